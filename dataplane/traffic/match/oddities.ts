import { hexOf } from './hex.ts';
import { bytesOf } from './path-bytes.ts';

/**
 * Oddities can make a path mean one thing here and another to an upstream. In a path whose unreserved characters are decoded, these are:
 * parameters and backslashes, raw bytes, segments that end in dots or spaces (which Windows trims) or begin with spaces, alternate data
 * streams (`::$DATA`), escapes that decode to one of these, to a slash, a question mark, a percent sign or a control character, overlong
 * UTF-8 (RFC 3629 10), and characters that Windows and Unicode's compatibility forms convert to one of these. Each is recognized by its own
 * bytes and the few after it, so one scan suffices: forwards to the first, or backwards to the last.
 */

/** Where the first oddity of a path begins, or -1. Expects the result of `decodeUnreserved`. */
export function firstOddity(path: string): number {
  const from = path.search(MAY_CONTAIN_ODDITY);
  if (from < 0) return -1;
  const bytes = bytesOf(path);
  for (let at = Math.max(0, from - 1); at < path.length; at++) if (MAY_BE_ODD[bytes[at] as number] !== 0 && isOddAt(bytes, at)) return at;
  return -1;
}

/**
 * Everything before the first segment with an oddity, or before the first double slash. It ends with a slash. `first`: the position of the
 * first oddity.
 */
export function beginningOf(path: string, first: number): string {
  const empty = path.indexOf('//');
  const at = first < 0 || (empty >= 0 && empty < first) ? empty : first;
  return at < 0 ? path : path.slice(0, path.lastIndexOf('/', at) + 1) || '/';
}

/** The segments after the last oddity, with the slash before them. Empty if the last segment is odd itself. */
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

/** Most paths contain none of these, and an oddity begins at most one character before the first: at a dot or a slash before a space. */
const MAY_CONTAIN_ODDITY = /[%:;\\\x80-\xff]|\.(?:\/|$)/;
const MAY_BE_ODD = Uint8Array.from({ length: 256 }, (_, code) => (code > 0x7f || '/%.:;\\'.includes(String.fromCharCode(code)) ? 1 : 0));

function isOddAt(bytes: Buffer, at: number): boolean {
  const byte = bytes[at];
  if (byte === SLASH) return isBlank(bytes, at + 1);
  if (byte === PERCENT) return isOddEscape(bytes, at);
  if (byte === DOT) return endsName(bytes, at + 1);
  return byte === COLON ? beginsStream(bytes, at + 1) : true;
}

const isBlank = (bytes: Buffer, at: number): boolean => byteAt(bytes, at) === 0x20;
const endsName = (bytes: Buffer, at: number): boolean => bytes[at] === SLASH || bytes[at] === 0 || isBlank(bytes, at);

function beginsStream(bytes: Buffer, at: number): boolean {
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
  // A malformed escape.
  if (byte < 0) return true;
  const kind = ODD_ESCAPES[byte];
  return kind === ALWAYS || (kind !== NEVER && isOddBefore(byte, bytes, at + 3));
}

/** Whether an escaped byte forms an oddity together with what follows at `at`. */
function isOddBefore(byte: number, bytes: Buffer, at: number): boolean {
  if (byte === 0x20) return endsName(bytes, at);
  if (byte === COLON) return beginsStream(bytes, at);
  const second = byteAt(bytes, at);
  if (byte === 0xc2) return second === 0xa0 || second === 0xa5;
  if (byte === 0xe0) return second >> 5 === 0x80 >> 5;
  if (byte === 0xf0) return second >> 4 === 0x80 >> 4;
  if (byte === 0xef && (second === 0xbc || second === 0xbd)) return true;
  return ODD_THREES.has((byte << 16) | (second << 8) | byteAt(bytes, at + 3));
}

/** Compatibility forms of dots, slashes and backslashes, as three bytes of UTF-8. */
const ODD_THREES: ReadonlySet<number> = new Set([
  0xe280a4, 0xe280a5, 0xe280a6, 0xe28184, 0xe28895, 0xe28896, 0xefb899, 0xefb8b0, 0xefb992, 0xefb9a8,
]);

/** The byte that is escaped here, or a negative number if none is. */
const byteAt = (bytes: Buffer, at: number): number =>
  bytes[at] === PERCENT ? hexOf(bytes[at + 1] as number, bytes[at + 2] as number) : -1;
