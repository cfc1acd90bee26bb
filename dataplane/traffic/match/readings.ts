import { decodeUnreserved, decodingsOf, POSSIBLE_END, POSSIBLE_SLASH } from './decoded.ts';
import { Effort } from './effort.ts';
import { beginningOf, endOf, firstOddity } from './oddities.ts';
import { SearchableText } from './searchable-text.ts';
import { FLAGS, FOLLOWED, OPTIONAL, type Segments, STRIDE, split } from './segments.ts';

/** A longer path is not read in other ways. If it could be, it is refused. Characters. */
export const LONGEST_READ = 4_096;

/**
 * All ways in which upstreams may read a path, without listing them. A reading is a list of segments. Each of its segments is one of those
 * here, in order: fully decoded, cut at what may end it, and trimmed. A reading may omit only optional segments: some server drops them as
 * a parameter, as the host of a network-path, because of a following `..`, or as part of the query. Characters that only some servers read
 * as slashes count as slashes here; a segment that contains one never equals a segment of a pattern.
 */
export class Readings {
  /** What every reading begins with. */
  readonly beginning: string;
  private readonly path: string;
  private readonly folds: boolean;
  private readonly segments: Segments;
  private readonly shared: SharedReading;
  private endKnown: string | null = null;

  constructor(path: string, first: number, folds: boolean, segments: Segments, shared: SharedReading) {
    this.path = path;
    this.folds = folds;
    this.segments = segments;
    this.shared = shared;
    const beginning = firstSegments(beginningOf(path, first), segments.kept);
    this.beginning = folds ? beginning.toLowerCase() : beginning;
  }

  /** The number of segments. */
  get count(): number {
    return this.segments.count;
  }

  /** Whether some server may omit a segment. */
  isOptional(nth: number): boolean {
    return ((this.segments.parts[nth * STRIDE + FLAGS] as number) & OPTIONAL) !== 0;
  }

  /** Whether some server sees a slash after the segment. */
  isFollowed(nth: number): boolean {
    return ((this.segments.parts[nth * STRIDE + FLAGS] as number) & FOLLOWED) !== 0;
  }

  isSegment(nth: number, text: string): boolean {
    const { parts, text: whole } = this.segments;
    const from = parts[nth * STRIDE] as number;
    return (parts[nth * STRIDE + 1] as number) - from === text.length && whole.startsWith(text, from);
  }

  segmentBegins(nth: number, text: string): boolean {
    const { parts, text: whole } = this.segments;
    const from = parts[nth * STRIDE] as number;
    return (parts[nth * STRIDE + 1] as number) - from >= text.length && whole.startsWith(text, from);
  }

  /** The cost of the check so far. */
  get effort(): Effort {
    return this.shared.effort;
  }

  /** Whether every reading contains a text, including its slashes. */
  alwaysContains(text: string): boolean {
    return this.effort.spend(this.shared.decoded.stepsFor(text)) && (this.beginning.includes(text) || this.end.includes(text));
  }

  /** Whether a segment may contain a text without slashes. */
  mayContain(text: string): boolean {
    return this.shared.decoded.mayContain(text, this.segments.start, this.effort);
  }

  /**
   * Whether a segment may end with a text without slashes, before or after it is cut and trimmed. `atEnd`: only the last segment of some
   * reading counts.
   */
  mayEndSegment(text: string, atEnd: boolean): boolean {
    const { start, lastKept } = this.segments;
    return this.shared.decoded.mayContainBefore(text, atEnd ? lastKept : start, this.effort, mayEndName);
  }

  /** Whether a name may begin with a text that is not trimmed, such as a dot. To some servers, `..` is a name, too. */
  mayBeginName(text: string): boolean {
    const { effort, segments, shared } = this;
    return (
      BEFORE_NAME.some((slash) => shared.decoded.mayContain(slash + text, segments.start, effort)) ||
      shared.decoded.mayContainAfter(` ${text}`, segments.start, effort, hasOnlySpaces)
    );
  }

  /** Whether servers that decode less may see this lower-case text. It may begin with the digits of an escape. */
  mayContainUndecoded(text: string): boolean {
    return this.shared.undecoded.mayContain(text, 0, this.effort);
  }

  /** What every reading ends with. */
  get end(): string {
    if (this.endKnown !== null) return this.endKnown;
    const end = this.segments.mayEndEarly ? '' : endOf(this.path);
    this.endKnown = this.folds ? end.toLowerCase() : end;
    return this.endKnown;
  }

  /**
   * The readings of the path after the host of a network-path (RFC 3986 4.2), `//host/path`; undefined for any other path. In a decoded
   * path, `/` stands only where it was sent unescaped. The host may end at a slash in disguise or not; then nothing is sure about the path.
   */
  afterHost(): Readings | null | undefined {
    const { text } = this.segments;
    if (!text.startsWith('//')) return undefined;
    const start = endOfHost(text, isPossibleSlash);
    const slash = text.indexOf('/', start);
    const latest = slash < 0 ? text.length : slash;
    const segments = split(text, start, latest);
    if (segments === null) return null;
    const path = this.path.startsWith(text.slice(0, latest)) ? this.path.slice(latest) : '';
    return new Readings(path, path === '' ? 0 : firstOddity(path), this.folds, segments, this.shared);
  }
}

/** State shared by the readings of a path and those of the part after its host. */
type SharedReading = {
  readonly effort: Effort;
  /** The fully decoded path. */
  readonly decoded: SearchableText;
  /** The path before each round of decoding, in lower case. */
  readonly undecoded: SearchableText;
};

const BEFORE_NAME: readonly string[] = ['/', String.fromCharCode(POSSIBLE_SLASH)];
/** Whether a name has only spaces so far, which some servers trim. */
function hasOnlySpaces(text: string, end: number): boolean {
  let at = end - 1;
  while (text.charCodeAt(at) === 0x20) at--;
  return isPossibleSlash(text.charCodeAt(at));
}
/** Other servers may cut or trim a segment at a later place than we do. */
const MAY_END_NAME: ReadonlySet<number> = new Set([...'/;:. '].map((char) => char.charCodeAt(0)).concat(POSSIBLE_SLASH, POSSIBLE_END));
const mayEndName = (code: number): boolean => Number.isNaN(code) || MAY_END_NAME.has(code);

/** How a path may be read. undefined if all servers read it as we do, null if it must not be interpreted. `folds`: case-insensitive. */
export function readingsOf(sent: string, folds: boolean): Readings | null | undefined {
  const path = decodeUnreserved(sent);
  const first = firstOddity(path);
  return first < 0 ? undefined : readingsFrom(path, first, folds);
}

/**
 * The readings of the part after the host of a network-path, odd or not; undefined for any other path. `whole` are the readings of the path
 * itself if it has any besides ours.
 */
export function readingsAfterHost(sent: string, folds: boolean, whole: Readings | undefined): Readings | null | undefined {
  if (whole !== undefined) return whole.afterHost();
  if (!sent.startsWith('//')) return undefined;
  const path = decodeUnreserved(sent.slice(endOfHost(sent, isSlash)) || '/');
  return readingsFrom(path, firstOddity(path), folds);
}

/**
 * What may follow the host of a path that some server reads as a network-path reference, with only those escapes left that matter; empty
 * for any other path. The host may end at a slash in disguise or not.
 */
export function restsAfterHost(sent: string, folds: boolean): readonly string[] {
  const decodings = decodingsOf(sent);
  if (decodings === null) return [];
  const text = lastOf(decodings, folds);
  if (!isPossibleSlash(text.charCodeAt(0)) || !isPossibleSlash(text.charCodeAt(1))) return [];
  const first = endOfHost(text, isPossibleSlash);
  const slash = text.indexOf('/', first);
  return [...new Set([first, slash < 0 ? text.length : slash])].map((end) => escaped(text.slice(end)));
}

const ESCAPES: Readonly<Record<string, string>> = {
  '%': '%25',
  [String.fromCharCode(POSSIBLE_SLASH)]: '%2F',
  [String.fromCharCode(POSSIBLE_END)]: '%3F',
};

const TO_ESCAPE = new RegExp(`[${Object.keys(ESCAPES).join('')}]`, 'g');
const escaped = (decoded: string): string => decoded.replace(TO_ESCAPE, (char) => ESCAPES[char] ?? char);

const isSlash = (code: number): boolean => code === 0x2f;
const isPossibleSlash = (code: number): boolean => code === 0x2f || code === POSSIBLE_SLASH;

/** Where the host of a network-path ends. URL parsers of browsers skip any number of slashes before it (WHATWG URL 4.4), and so do Node's. */
function endOfHost(path: string, isEnd: (code: number) => boolean): number {
  let at = 0;
  while (isEnd(path.charCodeAt(at))) at++;
  while (at < path.length && !isEnd(path.charCodeAt(at))) at++;
  return at;
}

function readingsFrom(path: string, first: number, folds: boolean): Readings | null {
  if (path.length > LONGEST_READ) return null;
  const decodings = decodingsOf(path);
  if (decodings === null) return null;
  const text = lastOf(decodings, folds);
  const segments = split(text, 0);
  if (segments === null) return null;
  const decoded = new SearchableText(() => text);
  const undecoded = new SearchableText(() => (path.includes('%') ? decodings.slice(0, -1).join('\n').toLowerCase() : ''));
  return new Readings(path, first, folds, segments, { effort: new Effort(), decoded, undecoded });
}

function lastOf(decodings: readonly string[], folds: boolean): string {
  const text = decodings[decodings.length - 1] as string;
  return folds ? text.toLowerCase() : text;
}

/** The segments of a pattern, read like those of a path. null if its readings are ambiguous. */
export function segmentsOfPattern(pattern: string, folds: boolean): readonly string[] | null {
  const decodings = decodingsOf(decodeUnreserved(pattern));
  const read = decodings === null ? null : split(lastOf(decodings, folds), 0);
  if (read === null) return null;
  const { text, parts, count, climbs } = read;
  const segments = Array.from({ length: count }, (_, nth) => text.slice(parts[nth * STRIDE], parts[nth * STRIDE + 1]));
  const isOptional = segments.some((_, nth) => ((parts[nth * STRIDE + FLAGS] as number) & OPTIONAL) !== 0);
  return climbs || isOptional ? null : segments;
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
