import { POSSIBLE_END, POSSIBLE_SLASH } from './decoded.ts';
import { bytesOf } from './path-bytes.ts';

/**
 * A path with more segments is not read in other ways. If it could be, it is refused. Empty segments count, and so do those between slashes
 * in disguise.
 */
export const MAX_SEGMENTS_READ = 128;

/** The segments of a decoded path, cut at what may end them, and trimmed. */
export type Segments = {
  readonly text: string;
  readonly start: number;
  /** Where each segment begins and ends in the text, and its flags. */
  readonly parts: Int32Array;
  readonly count: number;
  /** How many leading segments no `..` can remove. */
  readonly kept: number;
  readonly climbs: boolean;
  /** Whether a question mark in disguise or the host of a network-path makes the end of the path ambiguous. */
  readonly mayEndEarly: boolean;
  /** Where the last segment begins that no server omits, or `start` if there is none. */
  readonly lastKept: number;
};

/** Numbers for each segment in `parts`: its beginning, its end, and at `FLAGS` the flags. */
export const STRIDE = 3;
export const FLAGS = 2;
/** A flag: some server removes the segment. */
export const OPTIONAL = 1;
/** A flag: something stands after the segment, if only a slash. */
export const FOLLOWED = 2;

/**
 * Splits, in one pass, a decoded path that begins with the slash at `start`, or is empty if `start` is its end. Some server lets it begin
 * as late as at `latest`. null if it has too many segments.
 */
export function split(text: string, start: number, latest = start): Segments | null {
  const parts = new Int32Array(STRIDE * Math.min(MAX_SEGMENTS_READ, 1 + (text.length >> 1)));
  const bytes = bytesOf(text);
  // A literal double slash is checked separately.
  const network = isSlash(bytes[start]) && bytes[start + 1] === POSSIBLE_SLASH;
  let count = 0;
  let host = network;
  let depth = 0;
  let kept = Number.POSITIVE_INFINITY;
  let climb = -1;
  let cut = false;
  let ended = false;
  let lastKept = start;
  let slashes = 0;
  for (let from = start + 1; from <= text.length; ) {
    if (++slashes > MAX_SEGMENTS_READ) return null;
    let to = from;
    let end = -1;
    let endsHere = false;
    for (; to < text.length; to++) {
      const code = bytes[to] as number;
      if (code > COLON && code !== SEMICOLON) continue;
      if (isSlash(code)) break;
      if (end < 0 && isCut(bytes, to, code)) end = to;
      endsHere ||= code === POSSIBLE_END;
    }
    const name = trimmed(bytes, from, end < 0 ? to : end);
    if (name.kind === CLIMB) {
      depth--;
      kept = Math.min(kept, depth);
      climb = count;
      lastKept = start;
    }
    const isName = name.kind === NAME;
    // A dot segment or an empty one is a name to servers that cut it elsewhere or not at all.
    if (isName || to - from > name.dots) {
      // The first segment of a network-path is its host, which does not end at a slash in disguise for all servers.
      const gone = !isName || cut || ended || host || from <= latest;
      if (isName && bytes[to] === SLASH) host = false;
      if (!gone) lastKept = from;
      const at = count++ * STRIDE;
      parts[at] = name.from;
      parts[at + 1] = name.to;
      parts[at + FLAGS] = (gone ? OPTIONAL : 0) | (to < text.length ? FOLLOWED : 0);
      // All servers see this as one segment, so a `..` removes it before any segment in front of it.
      const isBare = name.from === from && name.to === to && bytes[from - 1] === SLASH;
      if (!gone && isBare && (to === text.length || bytes[to] === SLASH)) depth++;
    }
    if (end >= 0) cut = true;
    ended ||= endsHere;
    if (bytes[to] === SLASH) cut = false;
    from = to + 1;
  }
  for (let nth = 0; nth < climb; nth++) parts[nth * STRIDE + FLAGS] = (parts[nth * STRIDE + FLAGS] as number) | OPTIONAL;
  return { text, start, parts, count, kept: Math.max(0, kept), climbs: climb >= 0, mayEndEarly: ended || network, lastKept };
}

const SLASH = 0x2f;
const COLON = 0x3a;
const SEMICOLON = 0x3b;
const DOLLAR = 0x24;
const BLANK = 0x20;
const DOT = 0x2e;

const isSlash = (code: number | undefined): boolean => code === SLASH || code === POSSIBLE_SLASH;

/** Whether a parameter (RFC 3986 3.3), an alternate data stream or a query in disguise begins here. */
function isCut(bytes: Buffer, at: number, code: number): boolean {
  if (code === SEMICOLON || code === POSSIBLE_END) return true;
  if (code !== COLON) return false;
  const next = bytes[at + 1];
  return next === COLON || next === DOLLAR;
}

const NAME = 0;
const CLIMB = 1;
const EMPTY = 2;

/** The result of trimming a segment: without surrounding spaces and trailing dots. One reused object. */
const trim = { kind: NAME, from: 0, to: 0, dots: 0 };

function named(from: number, to: number): Readonly<typeof trim> {
  trim.from = from;
  trim.to = to;
  trim.dots = 0;
  trim.kind = NAME;
  return trim;
}

/** Two or more dots count as `..`, one dot as an empty segment. */
function trimmed(bytes: Buffer, first: number, last: number): Readonly<typeof trim> {
  let from = first;
  let to = last;
  let dots = 0;
  const code = bytes[last - 1];
  if (from < to && code !== DOT && code !== BLANK && bytes[from] !== BLANK) return named(from, to);
  while (from < to && bytes[from] === BLANK) from++;
  for (; to > from; to--) {
    const code = bytes[to - 1];
    if (code === DOT) dots++;
    else if (code !== BLANK) break;
  }
  trim.from = from;
  trim.to = to;
  trim.dots = dots;
  trim.kind = to > from ? NAME : dots > 1 ? CLIMB : EMPTY;
  return trim;
}
