import { encodeHuffman, huffmanLength } from './huffman-encoder.ts';

/** A string literal is in Huffman code (RFC 7541 5.2). */
const HUFFMAN = 0x80;

/**
 * Writes an integer (RFC 7541 5.1), 0–2^28, to `out` from index `at`: the bits of `mask` are its prefix, and `first` has the other bits of
 * the first byte. @returns the end.
 */
export function writeInteger(out: Buffer, at: number, first: number, mask: number, value: number): number {
  if (value < mask) {
    out[at] = first | value;
    return at + 1;
  }
  out[at] = first | mask;
  let end = at + 1;
  let rest = value - mask;
  for (; rest >= 0x80; rest >>>= 7) out[end++] = rest | 0x80;
  out[end] = rest;
  return end + 1;
}

/** From this length on (bytes), a native call is faster than a loop. */
const LONG = 16;

/** Writes a string literal (RFC 7541 5.2) of Latin-1 text without Huffman code. @returns the end. */
export function writeString(out: Buffer, at: number, text: string): number {
  let end = writeInteger(out, at, 0, 0x7f, text.length);
  if (text.length >= LONG) return end + out.write(text, end, 'latin1');
  for (let next = 0; next < text.length; next++) out[end++] = text.charCodeAt(next);
  return end;
}

/** Writes a string literal (RFC 7541 5.2) of Latin-1 text, in Huffman code if that is shorter. @returns the end. */
export function writeShorterString(out: Buffer, at: number, text: string): number {
  const coded = huffmanLength(text);
  if (coded >= text.length) return writeString(out, at, text);
  return encodeHuffman(text, out, writeInteger(out, at, HUFFMAN, 0x7f, coded));
}
