import { CODE, CODE_BITS } from './huffman-code.ts';

/** Codes with more bits are written in two parts, so that seven pending bits and the next part fit into 32 bits. */
const MAX_AT_ONCE = 24;
const LOW_BITS = 16;

/** How many bytes the Latin-1 text takes in the Huffman code of RFC 7541 appendix B. */
export function huffmanLength(text: string): number {
  let bits = 0;
  for (let at = 0; at < text.length; at++) bits += CODE_BITS[text.charCodeAt(at) & 0xff] as number;
  return (bits + 7) >>> 3;
}

/** Writes the Latin-1 text as Huffman code to `out` from index `at`, padded with ones (RFC 7541 5.2). @returns the end. */
export function encodeHuffman(text: string, out: Buffer, at: number): number {
  let end = at;
  let pending = 0;
  let count = 0;
  for (let next = 0; next < text.length; next++) {
    const symbol = text.charCodeAt(next) & 0xff;
    let code = CODE[symbol] as number;
    let bits = CODE_BITS[symbol] as number;
    if (bits > MAX_AT_ONCE) {
      pending = (pending << (bits - LOW_BITS)) | (code >>> LOW_BITS);
      count += bits - LOW_BITS;
      for (; count >= 8; count -= 8) out[end++] = pending >>> (count - 8);
      code &= 0xffff;
      bits = LOW_BITS;
    }
    pending = (pending << bits) | code;
    count += bits;
    for (; count >= 8; count -= 8) out[end++] = pending >>> (count - 8);
  }
  if (count > 0) out[end++] = (pending << (8 - count)) | (0xff >>> count);
  return end;
}
