import { hexOf } from './hex.ts';
import { bytesOf } from './path-bytes.ts';

/** Replaces what only some servers read as a slash. */
export const POSSIBLE_SLASH = 0x01;
/** Replaces a `?` or `#` that may end the path. */
export const POSSIBLE_END = 0x02;

/** No known server decodes more often. */
const MAX_DECODINGS = 3;
/** A longer path is not decoded a third time, because decoding and matching it would cost the most. Bytes. */
const LONGEST_DECODED_AGAIN = 512;
const ESCAPE = /%(?:[uU][0-9A-Fa-f]{4}|[0-9A-Fa-f]{2})/;

/** The path while it is decoded in place. Each pass leaves its length unchanged or shortens it. */
let bytes = bytesOf('');

/**
 * The path before and after each round of decoding, for as many rounds as any server may do. Bytes are characters, and `/` stands only
 * where it was sent unescaped. One pass per round.
 * @returns null for a path that must not be interpreted: with NUL, malformed escapes, or escapes nested too deeply.
 */
export function decodingsOf(path: string): readonly [string, ...string[]] | null {
  if (path !== lastPath) {
    lastDecodings = decodedInTurn(path);
    lastPath = path;
  }
  return lastDecodings;
}

/** The check for the proxy's own paths and the check of guards decode the same path. */
let lastPath = '';
let lastDecodings: ReturnType<typeof decodedInTurn> = null;

function decodedInTurn(path: string): readonly [string, ...string[]] | null {
  const texts: [string, ...string[]] = [path];
  let length = write(path);
  if (path.includes('\\')) for (let at = 0; at < length; at++) if (bytes[at] === BACKSLASH) bytes[at] = POSSIBLE_SLASH;
  for (let time = 0, text = ''; time === 0 || ESCAPE.test(text); time++) {
    if (time === MAX_DECODINGS || (time > 1 && length > LONGEST_DECODED_AGAIN)) return null;
    length = decode(length, time === 0);
    if (length < 0) return null;
    text = bytes.toString('latin1', 0, length);
    texts.push(text);
  }
  return texts;
}

/** The path with unreserved characters decoded and all other escapes in upper case. All servers treat the two forms alike. */
export function decodeUnreserved(path: string): string {
  let from = path.indexOf('%');
  if (from < 0) return path;
  const length = write(path);
  const buffer = bytes;
  let to = from;
  while (from < length) {
    const byte = buffer[from] as number;
    const code = byte === PERCENT ? pairAt(buffer, from + 1, length) : -1;
    if (code < 0) {
      buffer[to++] = byte;
      from++;
      continue;
    }
    if (UNRESERVED[code]) buffer[to++] = code;
    else {
      buffer[to] = PERCENT;
      buffer[to + 1] = upper(buffer[from + 1] as number);
      buffer[to + 2] = upper(buffer[from + 2] as number);
      to += 3;
    }
    from += 3;
  }
  return buffer.toString('latin1', 0, to);
}

const UNRESERVED: readonly boolean[] = Array.from({ length: 256 }, (_, code) => /^[A-Za-z0-9\-._~]$/.test(String.fromCharCode(code)));
const upper = (code: number): number => (code >= 0x61 ? code - 0x20 : code);

/** @returns its length. */
function write(path: string): number {
  bytes = bytesOf(path);
  return path.length;
}

const PERCENT = 0x25;
const BACKSLASH = 0x5c;
const DOT = 0x2e;
const NEVER = -1;
const NOTHING = -2;

/**
 * Decodes each escape once, and replaces characters that some servers read as ASCII by that ASCII. In the `first` round a malformed escape
 * ends decoding; in later rounds `%u0041` is an escape too. @returns the new length, or -1 if the path must not be interpreted.
 */
function decode(length: number, first: boolean): number {
  // A local variable is faster in the loop than a variable of the module.
  const buffer = bytes;
  let from = 0;
  let to = 0;
  while (from < length) {
    const byte = buffer[from] as number;
    if (byte !== PERCENT && byte < 0x80) {
      buffer[to++] = byte;
      from++;
      continue;
    }
    const escaped = byte === PERCENT;
    const two = escaped ? pairAt(buffer, from + 1, length) : byte;
    const code = two < 0 && !first ? unicodeAt(buffer, from + 1, length) : two;
    if (code < 0) {
      if (first) return -1;
      buffer[to++] = byte;
      from++;
      continue;
    }
    from += !escaped ? 1 : two < 0 ? 6 : 3;
    to = two < 0 && code > 0x7f ? addUtf8(buffer, to, code) : add(buffer, to, code);
    if (to < 0 || (isOverlongLead(code) && from < length && isDotOrSlash(buffer[from] as number))) return -1;
  }
  return to;
}

/** Adds a byte that was escaped, or that may be part of a substitute for ASCII. @returns the new length, or -1. */
function add(buffer: Buffer, to: number, byte: number): number {
  if (byte > 0x7f) {
    buffer[to] = byte;
    return byte < 0xc0 ? fit(buffer, to + 1) : to + 1;
  }
  const meaning = MEANINGS[byte] as number;
  if (meaning === NEVER || (to > 0 && isOverlongLead(buffer[to - 1] as number) && (byte < 0x20 || isDotOrSlash(meaning)))) return -1;
  if (meaning === NOTHING) return to;
  buffer[to] = meaning;
  return to + 1;
}

/** Adds a code point beyond ASCII. Half of a surrogate pair is treated like any other. */
function addUtf8(buffer: Buffer, at: number, code: number): number {
  let to = at;
  if (code > 0x7ff) {
    buffer[to++] = 0xe0 | (code >> 12);
    buffer[to++] = 0x80 | ((code >> 6) & 0x3f);
  } else buffer[to++] = 0xc0 | (code >> 6);
  return add(buffer, to, 0x80 | (code & 0x3f));
}

const isDotOrSlash = (byte: number): boolean => byte === DOT || byte === POSSIBLE_SLASH;

/** The value of two hexadecimal digits, or a negative number if they are not digits. */
const pairAt = (buffer: Buffer, at: number, length: number): number =>
  at + 2 > length ? -1 : hexOf(buffer[at] as number, buffer[at + 1] as number);

/** The value of `u` and four hexadecimal digits, or a negative number if they are missing. */
function unicodeAt(buffer: Buffer, at: number, length: number): number {
  if (((buffer[at] as number) | 0x20) !== 0x75) return -1;
  const high = pairAt(buffer, at + 1, length);
  const low = pairAt(buffer, at + 3, length);
  return high < 0 || low < 0 ? -1 : (high << 8) | low;
}

function meaningOf(code: number): number {
  if (code === 0x2f || code === BACKSLASH) return POSSIBLE_SLASH;
  if (code === 0x3f || code === 0x23) return POSSIBLE_END;
  if (code === 0) return NEVER;
  // URL parsers of browsers remove these (WHATWG URL 4.4). The other control characters are trimmed like spaces.
  if (code === 0x09 || code === 0x0a || code === 0x0d) return NOTHING;
  return code < 0x20 || code === 0x7f ? 0x20 : code;
}

const MEANINGS = Int16Array.from({ length: 256 }, (_, code) => meaningOf(code));

/**
 * If the bytes before `length` end with a substitute for ASCII, replaces it. Only called after a continuation byte (RFC 3629 3). @returns
 * the new length, or -1.
 */
function fit(buffer: Buffer, length: number): number {
  let lead = length - 2;
  while (lead >= 0 && ((buffer[lead] as number) & 0xc0) === 0x80 && length - lead < LONGEST_STAND_IN) lead--;
  if (lead < 0 || STAND_IN_SIZES[buffer[lead] as number] !== length - lead) return length;
  const code = standsFor(buffer, lead, length);
  if (code < NO_ASCII) return addDots(buffer, lead, NO_ASCII - code);
  return code === NO_ASCII ? length : add(buffer, lead, code);
}

function addDots(buffer: Buffer, to: number, count: number): number {
  if (to > 0 && isOverlongLead(buffer[to - 1] as number)) return -1;
  for (let at = to; at < to + count; at++) buffer[at] = DOT;
  return to + count;
}

const LONGEST_STAND_IN = 6;

/**
 * The length of a substitute for an ASCII character, by its first byte: overlong forms (RFC 3629 10), including the five- and six-byte
 * forms of early UTF-8, and the characters in the table below. 0 for all other bytes.
 */
const STAND_IN_SIZES = new Uint8Array(256);
for (const [byte, size] of [
  [0xc0, 2],
  [0xc1, 2],
  [0xc2, 2],
  [0xe0, 3],
  [0xe2, 3],
  [0xef, 3],
  [0xf0, 4],
  [0xf8, 5],
  [0xfc, 6],
] as const)
  STAND_IN_SIZES[byte] = size;

/**
 * Never valid in UTF-8. Decoders that don't check the second byte combine it with what follows: `C0 2F` becomes a slash and `C1 1C` a
 * backslash. Others drop the byte.
 */
const isOverlongLead = (byte: number): boolean => byte === 0xc0 || byte === 0xc1;

/** No ASCII equivalent. Each 1 below this value stands for one dot. */
const NO_ASCII = -1;

/** Characters of two or three bytes that best-fit tables and compatibility forms (UAX 15) map to ASCII. */
const BEST_FIT: ReadonlyMap<number, number> = new Map([
  [0xe28184, 0x2f],
  [0xe28895, 0x2f],
  [0xe28896, BACKSLASH],
  [0xe280a4, 0x2e],
  [0xe280a5, NO_ASCII - 2],
  [0xe280a6, NO_ASCII - 3],
  [0xefb899, NO_ASCII - 3],
  [0xefb8b0, NO_ASCII - 2],
  [0xefb992, 0x2e],
  [0xefb9a8, BACKSLASH],
  [0xc2a5, BACKSLASH],
  [0xc2a0, 0x20],
]);

/** The ASCII equivalent of the bytes from `first` on. */
function standsFor(buffer: Buffer, first: number, length: number): number {
  const byte = buffer[first] as number;
  if (byte !== 0xc2 && byte !== 0xe2 && byte !== 0xef) return overlongCode(buffer, first, length);
  let word = byte;
  for (let at = first + 1; at < length; at++) word = (word << 8) | (buffer[at] as number);
  return isFullWidth(word) ? 0x20 + (((word >> 8) & 0xff) - 0xbc) * 0x40 + (word & 0x3f) : (BEST_FIT.get(word) ?? NO_ASCII);
}

/** U+FF01 to U+FF5E. */
const isFullWidth = (word: number): boolean => (word >= 0xefbc81 && word <= 0xefbcbf) || (word >= 0xefbd80 && word <= 0xefbd9e);

/** In an overlong form, the bytes between the first and the last are empty, except that the second-last may hold the highest bit. */
function overlongCode(buffer: Buffer, first: number, length: number): number {
  for (let at = first + 1; at < length - 1; at++) if ((buffer[at] as number) > (at === length - 2 ? 0x81 : 0x80)) return NO_ASCII;
  return (((buffer[length - 2] as number) & 1) << 6) | ((buffer[length - 1] as number) & 0x3f);
}
