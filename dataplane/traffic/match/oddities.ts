import { hexOf } from './hex.ts';
import { bytesOf } from './path-bytes.ts';

/**
 * What makes a path mean one thing here and another behind us, in a path whose unreserved characters are decoded:
 * parameters and backslashes, raw bytes, segments that end in dots or blanks (Windows trims them) or
 * begin with blanks, alternate data streams (`::$DATA`), escapes that become one of these, a slash, a question mark, a percent sign or a
 * control character, overlong UTF-8 (RFC 3629 10), and characters of which Windows and Unicode's compatibility forms make one of these.
 * Each is told by what stands at its place and just behind, so that a path is read once: forwards up to the first, backwards up to the last.
 */

/** Where the first oddity of a path begins, -1 for none. Takes what `plainly` gives. */
export function firstOddity(path: string): number {
  const from = path.search(MAY_HOLD_ODDITY);
  if (from < 0) return -1;
  const bytes = bytesOf(path);
  for (let at = Math.max(0, from - 1); at < path.length; at++) if (MAY_BE_ODD[bytes[at] as number] !== 0 && isOddAt(bytes, at)) return at;
  return -1;
}

/** Everything in front of the first segment with an oddity, or of two slashes; it ends with a slash. `first`: where the first oddity is. */
export function beginningOf(path: string, first: number): string {
  const empty = path.indexOf('//');
  const at = first < 0 || (empty >= 0 && empty < first) ? empty : first;
  return at < 0 ? path : path.slice(0, path.lastIndexOf('/', at) + 1) || '/';
}

/** The segments behind the last oddity, with the slash before them; empty where the last segment is odd itself. */
export function endOf(path: string): string {
  const bytes = bytesOf(path);
  let from = path.length;
  for (let at = path.length - 1; at >= 0; at--) {
    const byte = bytes[at] as number;
    if (MAY_BE_ODD[byte] === 0) continue;
    if (byte === SLASH && bytes[at + 1] === SLASH) return path.slice(at + 1);
    if (isOddAt(bytes, at)) break;
    if (byte === SLASH) from = at;
  }
  return path.slice(from);
}

const SLASH = 0x2f;
const PERCENT = 0x25;
const DOT = 0x2e;
const COLON = 0x3a;
const DOLLAR = 0x24;

/** Most paths hold none of these, and none is odd more than one character before the first: a dot or a slash before a blank. */
const MAY_HOLD_ODDITY = /[%:;\\\x80-\xff]|\.(?:\/|$)/;
const MAY_BE_ODD = Uint8Array.from({ length: 256 }, (_, code) => (code > 0x7f || '/%.:;\\'.includes(String.fromCharCode(code)) ? 1 : 0));

function isOddAt(bytes: Buffer, at: number): boolean {
  const byte = bytes[at];
  if (byte === SLASH) return isBlank(bytes, at + 1);
  if (byte === PERCENT) return isOddEscape(bytes, at);
  if (byte === DOT) return endsName(bytes, at + 1);
  return byte === COLON ? goesOnAsStream(bytes, at + 1) : true;
}

const isBlank = (bytes: Buffer, at: number): boolean => byteAt(bytes, at) === 0x20;
const endsName = (bytes: Buffer, at: number): boolean => bytes[at] === SLASH || bytes[at] === 0 || isBlank(bytes, at);

function goesOnAsStream(bytes: Buffer, at: number): boolean {
  const next = bytes[at] === PERCENT ? byteAt(bytes, at) : bytes[at];
  return next === COLON || next === DOLLAR;
}

const NEVER = 0;
const ALWAYS = 1;
const ODD_ESCAPES = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte < 0x20 || [0x23, 0x25, 0x2f, 0x3b, 0x3f, 0x5c, 0x7f, 0xc0, 0xc1, 0xf8, 0xfc].includes(byte)) return ALWAYS;
  return [0x20, 0x3a, 0xc2, 0xe0, 0xe2, 0xef, 0xf0].includes(byte) ? 2 : NEVER;
});

function isOddEscape(bytes: Buffer, at: number): boolean {
  const byte = byteAt(bytes, at);
  // An escape that is none.
  if (byte < 0) return true;
  const kind = ODD_ESCAPES[byte];
  return kind === ALWAYS || (kind !== NEVER && isOddBefore(byte, bytes, at + 3));
}

/** Whether an escaped byte makes an oddity together with what stands from `at` on. */
function isOddBefore(byte: number, bytes: Buffer, at: number): boolean {
  if (byte === 0x20) return endsName(bytes, at);
  if (byte === COLON) return goesOnAsStream(bytes, at);
  const second = byteAt(bytes, at);
  if (byte === 0xc2) return second === 0xa0 || second === 0xa5;
  if (byte === 0xe0) return second >> 5 === 0x80 >> 5;
  if (byte === 0xf0) return second >> 4 === 0x80 >> 4;
  if (byte === 0xef && (second === 0xbc || second === 0xbd)) return true;
  return ODD_THREES.has((byte << 16) | (second << 8) | byteAt(bytes, at + 3));
}

/** Dots, slashes and backslashes of compatibility forms, as three bytes of UTF-8. */
const ODD_THREES: ReadonlySet<number> = new Set([
  0xe280a4, 0xe280a5, 0xe280a6, 0xe28184, 0xe28895, 0xe28896, 0xefb899, 0xefb8b0, 0xefb992, 0xefb9a8,
]);

/** The byte that is escaped here, negative for none. */
const byteAt = (bytes: Buffer, at: number): number =>
  bytes[at] === PERCENT ? hexOf(bytes[at + 1] as number, bytes[at + 2] as number) : -1;
