/** Character classes of RFC 9110 5.5, 5.6.2 and RFC 9112 3.2 in one lookup table, one bit per class. */
export const TOKEN = 1;
export const FIELD_VALUE = 2;
export const TARGET = 4;
export const HOST = 8;
export const HEX = 16;
/** The characters of nearly all field names: letters, digits and hyphens. */
export const PLAIN = 32;

export const CLASS = new Uint8Array(256);

export const HTAB = 9;
export const LF = 10;
export const CR = 13;
export const SP = 32;
export const COLON = 58;

const mark = (bit: number, chars: string): void => {
  for (const char of chars) CLASS[char.charCodeAt(0)] = (CLASS[char.charCodeAt(0)] as number) | bit;
};
const range = (from: number, to: number): string => String.fromCharCode(...Array.from({ length: to - from + 1 }, (_, step) => from + step));

const ALPHA = `${range(0x41, 0x5a)}${range(0x61, 0x7a)}`;
const DIGIT = range(0x30, 0x39);
mark(TOKEN, `!#$%&'*+-.^_\`|~${DIGIT}${ALPHA}`);
mark(FIELD_VALUE, `\t${range(0x20, 0x7e)}${range(0x80, 0xff)}`);
// No '#', because a fragment is never sent to a server (RFC 9110 7.1). No bytes beyond ASCII, because RFC 3986 requires escapes for them.
mark(TARGET, range(0x21, 0x7e).replace('#', ''));
// reg-name and IP-literal of RFC 3986 3.2.2 without sub-delims and percent-encoding, which no routable name contains.
mark(HOST, `${DIGIT}${ALPHA}-._`);
mark(HEX, `${DIGIT}abcdefABCDEF`);
mark(PLAIN, `${DIGIT}${ALPHA}-`);
