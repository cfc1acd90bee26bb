import { decodedThroughout, decodingsOf, PERHAPS_END, PERHAPS_SLASH, plainly } from './decoded.ts';
import { beginningOf, endOf, isOdd } from './oddities.ts';

/** A longer path is not read in other ways: where it could be, it is refused. Characters. */
export const LONGEST_READ = 4_096;

/** Steps of comparing readings with patterns; a judgement that needs more is not made. */
const MOST_STEPS = 20_000;

/**
 * Everything that servers behind us may read a path as, without listing it. A reading is a list of segments. Each of them is one of
 * those here, in their order: decoded throughout, cut at what may end it and trimmed. Left out are at most those that are optional: some
 * server drops them as a parameter, as the host of a network-path, by a `..` behind them or as the query. Slashes that only some take
 * for slashes are slashes here; a segment that holds one is never equal to one of a pattern.
 */
export class Readings {
  /** What every reading begins with. */
  readonly beginning: string;
  private readonly path: string;
  private readonly folds: boolean;
  private readonly split: Split;
  /** Comparisons so far. */
  steps = 0;
  private endKnown: string | null = null;

  constructor(path: string, folds: boolean, split: Split) {
    this.path = path;
    this.folds = folds;
    this.split = split;
    const beginning = firstSegments(beginningOf(path), split.kept);
    this.beginning = folds ? beginning.toLowerCase() : beginning;
  }

  /** How many segments there are. */
  get count(): number {
    return this.split.count;
  }

  /** Whether some server may leave a segment out. */
  isOptional(nth: number): boolean {
    return ((this.split.parts[nth * STRIDE + FLAGS] as number) & OPTIONAL) !== 0;
  }

  /** Whether a slash stands behind it, to somebody. */
  isFollowed(nth: number): boolean {
    return ((this.split.parts[nth * STRIDE + FLAGS] as number) & FOLLOWED) !== 0;
  }

  isSegment(nth: number, text: string): boolean {
    const from = this.split.parts[nth * STRIDE] as number;
    return (this.split.parts[nth * STRIDE + 1] as number) - from === text.length && this.split.text.startsWith(text, from);
  }

  segmentBegins(nth: number, text: string): boolean {
    const from = this.split.parts[nth * STRIDE] as number;
    return (this.split.parts[nth * STRIDE + 1] as number) - from >= text.length && this.split.text.startsWith(text, from);
  }

  /** A segment as it is before it is cut and trimmed. */
  wholeSegment(nth: number): string {
    return this.split.text.slice(this.split.parts[nth * STRIDE + 2], this.split.parts[nth * STRIDE + 3]);
  }

  /** What every reading ends with. */
  get end(): string {
    if (this.endKnown !== null) return this.endKnown;
    const end = this.split.mayEndEarly ? '' : endOf(this.path);
    this.endKnown = this.folds ? end.toLowerCase() : end;
    return this.endKnown;
  }

  /** The path after each decoding. */
  get decodings(): readonly string[] {
    return decodingsOf(this.path);
  }

  /** Counts a step of the judgement. @returns whether it may go on. */
  step(): boolean {
    return ++this.steps <= MOST_STEPS;
  }
}

/** How a sent path may be read; undefined where everybody reads it as we do, null where nobody should guess. `folds`: without regard to case. */
export function readingsOf(sent: string, folds: boolean): Readings | null | undefined {
  const path = plainly(sent);
  return isOdd(path) ? readingsOfOdd(path, folds) : undefined;
}

/** The readings of what a network-path (RFC 3986 4.2) has behind its host, `//host/path`, odd or not; undefined for any other path. */
export function readingsBehindHost(sent: string, folds: boolean): Readings | null | undefined {
  if (!sent.startsWith('//')) return undefined;
  const slash = sent.indexOf('/', 2);
  return readingsOfOdd(plainly(slash < 0 ? '/' : sent.slice(slash)), folds);
}

function readingsOfOdd(path: string, folds: boolean): Readings | null {
  if (path.length > LONGEST_READ) return null;
  const decoded = decodedThroughout(path);
  return decoded === null ? null : new Readings(path, folds, split(folds ? decoded.toLowerCase() : decoded));
}

/** The segments of a pattern, read like those of a path; null where it can't be told what readings of it are. */
export function segmentsOfPattern(pattern: string, folds: boolean): readonly string[] | null {
  const decoded = decodedThroughout(plainly(pattern));
  if (decoded === null) return null;
  const { text, parts, count, climbs } = split(folds ? decoded.toLowerCase() : decoded);
  const segments = Array.from({ length: count }, (_, nth) => text.slice(parts[nth * STRIDE], parts[nth * STRIDE + 1]));
  const isOptional = segments.some((_, nth) => ((parts[nth * STRIDE + FLAGS] as number) & OPTIONAL) !== 0);
  return climbs || isOptional ? null : segments;
}

type Split = {
  readonly text: string;
  /** Of each segment, where it begins and ends in the text, where it does before it is cut and trimmed, and its flags. */
  readonly parts: Int32Array;
  readonly count: number;
  /** How many of the first segments no `..` can reach. */
  readonly kept: number;
  readonly climbs: boolean;
  /** Whether a question mark in disguise, or the host of a network-path, leaves open what stands at the end. */
  readonly mayEndEarly: boolean;
};

const STRIDE = 5;
const FLAGS = 4;
const OPTIONAL = 1;
const FOLLOWED = 2;

/** One pass over a decoded path. */
function split(text: string): Split {
  const parts = new Int32Array(STRIDE * (1 + (text.length >> 1)));
  // Two slashes as such are judged apart.
  const network = isSlash(text.charCodeAt(0)) && text.charCodeAt(1) === PERHAPS_SLASH;
  let count = 0;
  let host = network;
  let depth = 0;
  let kept = Number.POSITIVE_INFINITY;
  let climb = -1;
  let cut = false;
  let ended = false;
  for (let from = 1; from <= text.length; ) {
    let to = from;
    let end = -1;
    for (; to < text.length; to++) {
      const code = text.charCodeAt(to);
      if (code > COLON && code !== SEMICOLON) continue;
      if (isSlash(code)) break;
      if (end < 0 && isCut(text, to, code)) end = to;
    }
    const name = trimmed(text, from, end < 0 ? to : end);
    if (name.kind === CLIMB) {
      depth--;
      kept = Math.min(kept, depth);
      climb = count;
    }
    const isName = name.kind === NAME;
    // A dot segment or nothing is a name to those who cut it elsewhere, or not at all.
    if (isName || to - from > name.dots) {
      // A network-path has a host for its first segment.
      const gone = !isName || cut || ended || host;
      if (isName) host = false;
      const at = count++ * STRIDE;
      parts[at] = name.from;
      parts[at + 1] = name.to;
      parts[at + 2] = from;
      parts[at + 3] = to;
      parts[at + FLAGS] = (gone ? OPTIONAL : 0) | (to < text.length ? FOLLOWED : 0);
      // One segment to everybody, so that a `..` takes it before it takes what stands in front of it.
      const isBare = name.from === from && name.to === to && text.charCodeAt(from - 1) === SLASH;
      if (!gone && isBare && (to === text.length || text.charCodeAt(to) === SLASH)) depth++;
    }
    if (end >= 0) {
      cut = true;
      ended ||= text.slice(end, to).includes(END);
    }
    if (text.charCodeAt(to) === SLASH) cut = false;
    from = to + 1;
  }
  for (let nth = 0; nth < climb; nth++) parts[nth * STRIDE + FLAGS] = (parts[nth * STRIDE + FLAGS] as number) | OPTIONAL;
  return { text, parts, count, kept: Math.max(0, kept), climbs: climb >= 0, mayEndEarly: ended || network };
}

const SLASH = 0x2f;
const COLON = 0x3a;
const SEMICOLON = 0x3b;
const DOLLAR = 0x24;
const BLANK = 0x20;
const DOT = 0x2e;
const END = String.fromCharCode(PERHAPS_END);

const isSlash = (code: number): boolean => code === SLASH || code === PERHAPS_SLASH;

/** Whether parameters (RFC 3986 3.3), an alternate data stream or a query in disguise begin here. */
function isCut(text: string, at: number, code: number): boolean {
  if (code === SEMICOLON || code === PERHAPS_END) return true;
  if (code !== COLON) return false;
  const next = text.charCodeAt(at + 1);
  return next === COLON || next === DOLLAR;
}

const NAME = 0;
const CLIMB = 1;
const EMPTY = 2;

/** A segment without blanks around it and dots at its end; the same object for each. */
const trim = { kind: NAME, from: 0, to: 0, dots: 0 };

function named(from: number, to: number): Readonly<typeof trim> {
  trim.from = from;
  trim.to = to;
  trim.dots = 0;
  trim.kind = NAME;
  return trim;
}

/** Two dots and more are as good as `..`; one is nothing. */
function trimmed(text: string, first: number, last: number): Readonly<typeof trim> {
  let from = first;
  let to = last;
  let dots = 0;
  const code = text.charCodeAt(last - 1);
  if (from < to && code !== DOT && code !== BLANK && text.charCodeAt(from) !== BLANK) return named(from, to);
  while (from < to && text.charCodeAt(from) === BLANK) from++;
  for (; to > from; to--) {
    const code = text.charCodeAt(to - 1);
    if (code === DOT) dots++;
    else if (code !== BLANK) break;
  }
  trim.from = from;
  trim.to = to;
  trim.dots = dots;
  trim.kind = to > from ? NAME : dots > 1 ? CLIMB : EMPTY;
  return trim;
}

/** `/a/b/` has two segments. */
function firstSegments(path: string, count: number): string {
  if (count === Number.POSITIVE_INFINITY) return path;
  let at = 0;
  for (let nth = 0; nth < count; nth++) {
    const slash = path.indexOf('/', at + 1);
    if (slash < 0) return path;
    at = slash;
  }
  return path.slice(0, at + 1);
}
