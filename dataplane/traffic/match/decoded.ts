/** What stands for a slash that not everybody takes for one. */
export const PERHAPS_SLASH = 0x01;
/** What stands for a `?` or `#` that may end the path. */
export const PERHAPS_END = 0x02;

/** Nobody decodes more often. */
const MOST_DECODINGS = 3;
const BAD_ESCAPE = /%(?![0-9A-Fa-f]{2})/;
const ESCAPE = /%(?:u[0-9A-Fa-f]{4}|[0-9A-Fa-f]{2})/;

/** A path while it is decoded in place: each pass leaves it as long as it was, or shorter. */
let bytes = Buffer.alloc(1_024);

/**
 * The path decoded as often as anybody would, in one pass a time: bytes as characters, `/` only where it was sent as one.
 * @returns null where it is better not to guess: with NUL, bad escapes, or escapes of escapes of escapes.
 */
export function decodedThroughout(path: string): string | null {
  const texts = decodedInTurn(path, false);
  return texts === null ? null : (texts[texts.length - 1] as string);
}

/** The path after each decoding, those that `decodedThroughout` goes through. */
export const decodingsOf = (path: string): readonly string[] => decodedInTurn(path, true) ?? [];

function decodedInTurn(path: string, each: boolean): string[] | null {
  if (path.includes('%') && BAD_ESCAPE.test(path)) return null;
  const texts = [path];
  let length = write(path);
  if (path.includes('\\')) for (let at = 0; at < length; at++) if (bytes[at] === BACKSLASH) bytes[at] = PERHAPS_SLASH;
  for (let time = 0; time < MOST_DECODINGS && (time === 0 || holdsEscape(length)); time++) {
    const before = length;
    length = fit(decode(length));
    if (length < 0) return null;
    // Whatever is decoded is shorter than what it was.
    if (length === before) break;
    if (each) texts.push(bytes.toString('latin1', 0, length));
  }
  const text = bytes.toString('latin1', 0, length);
  if (text.includes('%') && ESCAPE.test(text)) return null;
  texts.push(text);
  return texts;
}

/** The path with unreserved characters decoded and other escapes in upper case, which nobody reads differently. */
export function plainly(path: string): string {
  if (!path.includes('%')) return path;
  const length = write(path);
  let to = 0;
  for (let from = 0; from < length; ) {
    const byte = bytes[from] as number;
    const code = byte === PERCENT ? hexAt(from + 1, 2, length) : -1;
    if (code < 0) {
      bytes[to++] = byte;
      from++;
      continue;
    }
    if (UNRESERVED[code]) bytes[to++] = code;
    else {
      bytes[to] = PERCENT;
      bytes[to + 1] = upper(bytes[from + 1] as number);
      bytes[to + 2] = upper(bytes[from + 2] as number);
      to += 3;
    }
    from += 3;
  }
  return bytes.toString('latin1', 0, to);
}

const UNRESERVED: readonly boolean[] = Array.from({ length: 256 }, (_, code) => /^[A-Za-z0-9\-._~]$/.test(String.fromCharCode(code)));
const upper = (code: number): number => (code >= 0x61 ? code - 0x20 : code);

/** @returns its length. */
function write(path: string): number {
  if (path.length > bytes.length) bytes = Buffer.alloc(2 * path.length);
  return bytes.write(path, 'latin1');
}

function holdsEscape(length: number): boolean {
  const at = bytes.indexOf(PERCENT);
  return at >= 0 && at < length;
}

const PERCENT = 0x25;
const BACKSLASH = 0x5c;
const DOT = 0x2e;
const NEVER = -1;
const NOTHING = -2;

/** Whether the last decoding left bytes beyond ASCII. */
let isHigh = false;

/** Decodes each escape once, `%u0041` too. @returns the new length, or -1 where it can't go on. */
function decode(length: number): number {
  let to = 0;
  isHigh = false;
  for (let from = 0; from < length; ) {
    const byte = bytes[from] as number;
    if (byte !== PERCENT) {
      isHigh ||= byte > 0x7f;
      bytes[to++] = byte;
      from++;
      continue;
    }
    const two = hexAt(from + 1, 2, length);
    const four = two < 0 && ((bytes[from + 1] as number) | 0x20) === 0x75 ? hexAt(from + 2, 4, length) : -1;
    if (two < 0 && four < 0) {
      bytes[to++] = byte;
      from++;
      continue;
    }
    from += two < 0 ? 6 : 3;
    isHigh ||= two > 0x7f || four > 0x7f;
    if (four > 0x7f) to += bytes.write(String.fromCharCode(four), to);
    else {
      const code = two < 0 ? four : two;
      const meaning = meaningOf(code);
      if (meaning === NEVER || (code < 0x20 && to > 0 && isOverlongLead(bytes[to - 1] as number))) return -1;
      if (meaning !== NOTHING) bytes[to++] = meaning;
    }
  }
  return to;
}

/** The value of hexadecimal digits; -1 where there are none. */
function hexAt(from: number, count: number, length: number): number {
  if (from + count > length) return -1;
  let value = 0;
  for (let at = from; at < from + count; at++) {
    const code = bytes[at] as number;
    const small = code | 0x20;
    const digit = code >= 0x30 && code <= 0x39 ? code - 0x30 : small >= 0x61 && small <= 0x66 ? small - 0x57 : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

function meaningOf(code: number): number {
  if (code === 0x2f || code === BACKSLASH) return PERHAPS_SLASH;
  if (code === 0x3f || code === 0x23) return PERHAPS_END;
  if (code === 0) return NEVER;
  // URL parsers of browsers leave these out (WHATWG URL 4.4); the other control characters are trimmed like blanks.
  if (code === 0x09 || code === 0x0a || code === 0x0d) return NOTHING;
  return code < 0x20 || code === 0x7f ? 0x20 : code;
}

/** Takes what stands in for ASCII for what it stands for. @returns the new length, or -1. */
function fit(length: number): number {
  if (length < 0 || !isHigh) return length;
  let to = 0;
  for (let from = 0; from < length; ) {
    const byte = bytes[from] as number;
    const size = byte < 0xc0 ? 0 : sizeOfStandIn(byte, from, length);
    if (size === 0) {
      const next = bytes[from + 1] as number;
      if (isOverlongLead(byte) && from + 1 < length && (next === PERHAPS_SLASH || next === DOT)) return -1;
      bytes[to++] = byte;
      from++;
      continue;
    }
    const dots = DOTS.get(wordAt(from, size, length)) ?? 0;
    if (dots > 0) {
      bytes.fill(DOT, to, to + dots);
      to += dots;
      from += size;
      continue;
    }
    const meaning = meaningOf(standsFor(byte, from, size));
    from += size;
    if (meaning === NEVER) return -1;
    if (meaning !== NOTHING) bytes[to++] = meaning;
  }
  return to;
}

/** Lengths of overlong forms of ASCII (RFC 3629 10) by their first byte, from the time when UTF-8 had up to six. */
const OVERLONG: ReadonlyMap<number, number> = new Map([
  [0xc0, 2],
  [0xc1, 2],
  [0xe0, 3],
  [0xf0, 4],
  [0xf8, 5],
  [0xfc, 6],
]);

/**
 * Nothing in UTF-8 begins with these. Decoders that never look at the second byte make a character of whatever follows: `C0 2F` is a slash
 * to them, and `C1 1C` a backslash. Others leave the byte out.
 */
const isOverlongLead = (byte: number): boolean => byte === 0xc0 || byte === 0xc1;

/** Three bytes that compatibility forms (UAX 15) take for several dots: U+2025, U+2026, U+FE19 and U+FE30. */
const DOTS: ReadonlyMap<number, number> = new Map([
  [0xe280a5, 2],
  [0xe280a6, 3],
  [0xefb899, 3],
  [0xefb8b0, 2],
]);

/** Three bytes, or two, that best-fit tables and compatibility forms (UAX 15) take for ASCII. */
const BEST_FIT: ReadonlyMap<number, number> = new Map([
  [0xe28184, 0x2f],
  [0xe28895, 0x2f],
  [0xe28896, BACKSLASH],
  [0xe280a4, 0x2e],
  [0xefb992, 0x2e],
  [0xefb9a8, BACKSLASH],
  [0xc2a5, BACKSLASH],
  [0xc2a0, 0x20],
]);

/** How many bytes stand for one ASCII character from here on; 0 for none. */
function sizeOfStandIn(byte: number, from: number, length: number): number {
  const overlong = OVERLONG.get(byte);
  if (overlong !== undefined) return isOverlong(byte, from, overlong, length) ? overlong : 0;
  if (byte === 0xc2) return BEST_FIT.has(wordAt(from, 2, length)) ? 2 : 0;
  if (byte !== 0xe2 && byte !== 0xef) return 0;
  const word = wordAt(from, 3, length);
  return BEST_FIT.has(word) || DOTS.has(word) || isFullWidth(word) ? 3 : 0;
}

/** U+FF01 to U+FF5E. */
const isFullWidth = (word: number): boolean => (word >= 0xefbc81 && word <= 0xefbcbf) || (word >= 0xefbd80 && word <= 0xefbd9e);

function isOverlong(byte: number, from: number, size: number, length: number): boolean {
  if (from + size > length) return false;
  for (let at = from + 1; at < from + size; at++) {
    const next = bytes[at] as number;
    // All but the last one hold nothing, the one before it at most the highest bit.
    const most = at === from + size - 1 ? 0xbf : at === from + size - 2 ? 0x81 : 0x80;
    if (next < 0x80 || next > most) return false;
  }
  return byte !== 0xc0 || size === 2;
}

function standsFor(byte: number, from: number, size: number): number {
  const word = wordAt(from, size, from + size);
  const last = word & 0x3f;
  if (byte === 0xc2 || byte === 0xe2 || byte === 0xef) return BEST_FIT.get(word) ?? 0x20 + (((word >> 8) & 0xff) - 0xbc) * 0x40 + last;
  const high = size === 2 ? byte & 1 : (bytes[from + size - 2] as number) & 1;
  return (high << 6) | last;
}

/** The last up to four of these bytes as a number; -1 where there are fewer. */
function wordAt(from: number, size: number, length: number): number {
  if (from + size > length) return -1;
  let word = 0;
  for (let at = from; at < from + size; at++) word = (word << 8) | (bytes[at] as number);
  return word;
}
