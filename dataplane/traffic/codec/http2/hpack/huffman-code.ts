/**
 * The Huffman code of RFC 7541 appendix B: the symbols by the length of their codes. It is canonical: codes of one length are consecutive
 * in the order of their symbols, and each length continues where the next shorter one ended. The lengths therefore define it.
 */
const SYMBOLS_BY_BITS: readonly (readonly [bits: number, symbols: string])[] = [
  [5, '012aceiost'],
  [6, ' %-./3456789=A_bdfghlmnpru'],
  [7, ':BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz'],
  [8, '&*,;XZ'],
  [10, '!"()?'],
  [11, "'+|"],
  [12, '#>'],
  [13, '\x00$@[]~'],
  [14, '^}'],
  [15, '<`{'],
  [19, '\\\xc3\xd0'],
  [20, '\x80\x82\x83\xa2\xb8\xc2\xe0\xe2'],
  [21, '\x99\xa1\xa7\xac\xb0\xb1\xb3\xd1\xd8\xd9\xe3\xe5\xe6'],
  [22, '\x81\x84\x85\x86\x88\x92\x9a\x9c\xa0\xa3\xa4\xa9\xaa\xad\xb2\xb5\xb9\xba\xbb\xbd\xbe\xc4\xc6\xe4\xe8\xe9'],
  [23, '\x01\x87\x89\x8a\x8b\x8c\x8d\x8f\x93\x95\x96\x97\x98\x9b\x9d\x9e\xa5\xa6\xa8\xae\xaf\xb4\xb6\xb7\xbc\xbf\xc5\xe7\xef'],
  [24, '\x09\x8e\x90\x91\x94\x9f\xab\xce\xd7\xe1\xec\xed'],
  [25, '\xc7\xcf\xea\xeb'],
  [26, '\xc0\xc1\xc8\xc9\xca\xcd\xd2\xd5\xda\xdb\xee\xf0\xf2\xf3\xff'],
  [27, '\xcb\xcc\xd3\xd4\xd6\xdd\xde\xdf\xf1\xf4\xf5\xf6\xf7\xf8\xfa\xfb\xfc\xfd\xfe'],
  [28, '\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f\xdc\xf9'],
  [30, '\x0a\x0d\x16'],
];
/** End of string. No string contains it; the padding is a prefix of its code (RFC 7541 5.2). */
export const EOS = 256;
const EOS_BITS = 30;

/** The code of each symbol, its last bit in bit 0. */
export const CODE = new Uint32Array(EOS + 1);
/** How many bits the code of each symbol has: 5 to 30. */
export const CODE_BITS = new Uint8Array(EOS + 1);

let code = 0;
let last = 0;
const assign = (symbol: number, bits: number): void => {
  code <<= bits - last;
  last = bits;
  CODE[symbol] = code++;
  CODE_BITS[symbol] = bits;
};
for (const [bits, symbols] of SYMBOLS_BY_BITS) for (const char of symbols) assign(char.charCodeAt(0), bits);
assign(EOS, EOS_BITS);
