/** Test support: an element of an ASN.1 structure in DER, with its tag and what it contains (X.690 8.1). */
export function element(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content]);
}

/** Of elements in their order. */
export const sequence = (...elements: readonly Uint8Array[]): Buffer => element(0x30, ...elements);
export const setOf = (...elements: readonly Uint8Array[]): Buffer => element(0x31, ...elements);
export const boolean = (value: boolean): Buffer => element(0x01, Uint8Array.of(value ? 0xff : 0));
export const octets = (content: Uint8Array): Buffer => element(0x04, content);
export const utf8 = (text: string): Buffer => element(0x0c, Buffer.from(text));
/** Whole bytes. */
export const bits = (content: Uint8Array): Buffer => element(0x03, Uint8Array.of(0), content);
/** Not negative, most significant byte first. */
export const integer = (bytes: Uint8Array): Buffer =>
  element(0x02, (bytes[0] ?? 0) < 0x80 ? bytes : Buffer.concat([Uint8Array.of(0), bytes]));
/** Written with dots. */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return element(0x06, Uint8Array.from([first * 40 + second, ...others].flatMap(base128)));
}
/** Before 2050 (RFC 5280 4.1.2.5.1). */
export const time = (date: Date): Buffer => element(0x17, Buffer.from(`${date.toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`));

function lengthOf(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes = length < 0x100 ? [length] : [length >> 8, length & 0xff];
  return [0x80 | bytes.length, ...bytes];
}

/** Seven bits a byte, of which all but the last have the highest bit set. */
function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >> 7; rest > 0; rest >>= 7) bytes.unshift(0x80 | (rest & 0x7f));
  return bytes;
}
