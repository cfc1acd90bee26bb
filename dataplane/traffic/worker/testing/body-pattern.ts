/** How far the texts of a pattern are apart (bytes). A text is at most half as long. */
const BLOCK = 64;
/** How many bytes a failure shows: those before the first wrong one, and in total. */
const BEFORE = 16;
const SHOWN = 96;

/**
 * Test support: a body that has no place in common with any other. Every block says which body it belongs to and where, followed by characters
 * that hardly compress. A byte of another body, or of another place, is therefore noticed, and one can see where it comes from.
 */
export function patternOf(name: string, length: number): Buffer {
  const words = new Uint32Array(Math.ceil(length / 4));
  let word = seedOf(name);
  for (let at = 0; at < words.length; at++) {
    word ^= word << 13;
    word ^= word >>> 17;
    word ^= word << 5;
    // Only printable characters of ASCII.
    words[at] = (word & 0x3f3f3f3f) + 0x30303030;
  }
  const pattern = Buffer.from(words.buffer, 0, length);
  for (let at = 0; at < length; at += BLOCK) pattern.write(` ${name} at ${at} `, at, 'latin1');
  return pattern;
}

/** Not 0, from which the words would never change. */
function seedOf(name: string): number {
  let seed = 0x811c9dc5;
  for (const char of name) seed = Math.imul(seed ^ char.charCodeAt(0), 0x01000193);
  return seed === 0 ? 1 : seed;
}

/** A byte of a body is wrong; the message shows it. */
export class WrongByte extends Error {
  override readonly name = 'WrongByte';
}

/** Test support: compares a body that arrives in pieces with what it should be. */
export class BodyCheck {
  /** How many bytes have arrived. */
  at = 0;
  private readonly name: string;
  private readonly expected: Buffer;

  constructor(name: string, expected: Buffer) {
    this.name = name;
    this.expected = expected;
  }

  get complete(): boolean {
    return this.at === this.expected.length;
  }

  get progress(): string {
    return `${this.at} of ${this.expected.length} bytes of ${this.name}`;
  }

  /** @throws a WrongByte for the first one. */
  add(piece: Buffer): void {
    const expected = this.expected.subarray(this.at, this.at + piece.length);
    if (!piece.equals(expected)) throw new WrongByte(this.describe(piece, expected));
    this.at += piece.length;
  }

  private describe(piece: Buffer, expected: Buffer): string {
    const wrong = piece.findIndex((byte, at) => byte !== expected[at]);
    const from = Math.max(0, wrong - BEFORE);
    const show = (bytes: Buffer): string => JSON.stringify(bytes.toString('latin1', from, from + SHOWN));
    return [
      `byte ${this.at + wrong} of ${this.name} is wrong. From byte ${this.at + from} on`,
      `  expected ${show(expected)}`,
      `  received ${show(piece)}`,
    ].join('\n');
  }
}
