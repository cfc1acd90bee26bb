import type { SampleRandom } from '../../../http1/oracle/testing/sample-random.ts';
import { encodeHuffman, huffmanLength } from '../../hpack/huffman-encoder.ts';
import { FIRST_DYNAMIC } from '../../hpack/static-table.ts';

/** A block in two parts: sizes of the table, which may only begin a block, and fields. */
export type SampleBlock = { readonly sizes: Buffer; readonly fields: Buffer };

const TABLE_BYTES = 4_096;
/** The first index that is not a pseudo-header field, which would make the message malformed. */
const FIRST_REGULAR = 15;
const NAMES = ['a', 'x-b', 'cookie', 'etag', 'x-long-name-of-a-field', 'z'.repeat(200)];
const ODD_NAMES = ['', 'A', 'a b', ':path', ':x', 'caf\xe9', 'a:', '\0', 'connection', 'te', 'content-length'];
const VALUES = ['', 'b', 'text/html', '2', 'gzip, deflate', '\xe9\xff', 'x'.repeat(126), 'y'.repeat(300), 'z'.repeat(2_000)];
const ODD_VALUES = [' b', 'b ', '\t', 'a\nb', 'a\rb', '\0', '\x1f', '\x7f'];
const REPRESENTATIONS = [0x40, 0x40, 0x40, 0x00, 0x10];

/** Blocks for one decoder: all that RFC 7541 allows, and some that it doesn't. */
export class SampleBlocks {
  private inserted = 0;
  private readonly random: () => SampleRandom;

  /** `random` returns the randomness of the current input. */
  constructor(random: () => SampleRandom) {
    this.random = random;
  }

  next(): SampleBlock {
    const random = this.random();
    const sizes = random.once(8) ? this.sizes() : Buffer.alloc(0);
    if (random.once(40)) return { sizes, fields: Buffer.from(random.bytes(random.below(20)), 'latin1') };
    const fields: Buffer[] = [];
    for (let count = random.below(random.once(20) ? 80 : 8); count > 0; count--)
      fields.push(random.once(2) ? this.indexed() : this.literal());
    const whole = Buffer.concat(fields);
    return random.once(6) ? { sizes: mutated(sizes, random), fields: mutated(whole, random) } : { sizes, fields: whole };
  }

  private sizes(): Buffer {
    const random = this.random();
    const sizes: Buffer[] = [];
    for (let count = 1 + random.below(3); count > 0; count--) {
      const most = random.once(20) ? 2 * TABLE_BYTES : TABLE_BYTES;
      sizes.push(this.integer(0x20, 0x1f, random.once(3) ? random.below(100) : random.below(most + 1)));
    }
    return Buffer.concat(sizes);
  }

  private indexed(): Buffer {
    return this.integer(0x80, 0x7f, this.index());
  }

  /** Mostly one that exists. */
  private index(): number {
    const random = this.random();
    if (random.once(100)) return random.below(200);
    if (random.once(50)) return random.below(FIRST_REGULAR);
    const dynamic = Math.min(this.inserted, 1 + random.below(20));
    return FIRST_REGULAR + random.below(FIRST_DYNAMIC + dynamic - FIRST_REGULAR);
  }

  private literal(): Buffer {
    const random = this.random();
    const first = REPRESENTATIONS[random.below(REPRESENTATIONS.length)] ?? 0;
    const mask = first === 0x40 ? 0x3f : 0x0f;
    const index = random.once(2) ? this.index() : 0;
    const value = this.string(random.once(12) ? random.pick(ODD_VALUES) : random.pick(VALUES));
    const name = index > 0 ? [] : [this.string(random.once(20) ? random.pick(ODD_NAMES) : random.pick(NAMES))];
    if (first === 0x40) this.inserted++;
    return Buffer.concat([this.integer(first, mask, index), ...name, value]);
  }

  private string(text: string): Buffer {
    if (this.random().once(2)) return Buffer.concat([this.integer(0, 0x7f, text.length), Buffer.from(text, 'latin1')]);
    const coded = Buffer.alloc(huffmanLength(text));
    encodeHuffman(text, coded, 0);
    return Buffer.concat([this.integer(0x80, 0x7f, coded.length), coded]);
  }

  /** RFC 7541 5.1, now and then with superfluous zeros. */
  private integer(first: number, mask: number, value: number): Buffer {
    if (value < mask) return Buffer.from([first | value]);
    const bytes = [first | mask];
    let rest = value - mask;
    for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
    if (!this.random().once(20)) return Buffer.from([...bytes, rest]);
    return Buffer.from([...bytes, rest | 0x80, ...Array.from({ length: this.random().below(5) }, () => 0x80), 0]);
  }
}

function mutated(block: Buffer, random: SampleRandom): Buffer {
  const bytes = [...block];
  for (let count = 1 + random.below(3); count > 0 && bytes.length > 0; count--) {
    const at = random.below(bytes.length);
    const kind = random.below(5);
    if (kind === 0) bytes[at] = random.below(256);
    else if (kind === 1) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
    else if (kind === 2) bytes.splice(at, 1 + random.below(3));
    else if (kind === 3) bytes.splice(at, 0, random.below(256));
    else bytes.length = at;
  }
  return Buffer.from(bytes);
}
