import { decodingsOf, PERHAPS_END, PERHAPS_SLASH, plainly } from './decoded.ts';
import { Effort } from './effort.ts';
import { beginningOf, endOf, firstOddity } from './oddities.ts';
import { Searched } from './searched.ts';
import { FLAGS, FOLLOWED, OPTIONAL, type Segments, STRIDE, split } from './segments.ts';

/** A longer path is not read in other ways: where it could be, it is refused. Characters. */
export const LONGEST_READ = 4_096;

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
  private readonly segments: Segments;
  private readonly shared: Shared;
  private endKnown: string | null = null;

  constructor(path: string, first: number, folds: boolean, segments: Segments, shared: Shared) {
    this.path = path;
    this.folds = folds;
    this.segments = segments;
    this.shared = shared;
    const beginning = firstSegments(beginningOf(path, first), segments.kept);
    this.beginning = folds ? beginning.toLowerCase() : beginning;
  }

  /** How many segments there are. */
  get count(): number {
    return this.segments.count;
  }

  /** Whether some server may leave a segment out. */
  isOptional(nth: number): boolean {
    return ((this.segments.parts[nth * STRIDE + FLAGS] as number) & OPTIONAL) !== 0;
  }

  /** Whether a slash stands behind it, to somebody. */
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

  /** What judging has cost so far. */
  get effort(): Effort {
    return this.shared.effort;
  }

  /** Whether every reading holds a text, slashes and all. */
  surelyHold(text: string): boolean {
    return this.effort.spend(this.shared.decoded.stepsFor(text)) && (this.beginning.includes(text) || this.end.includes(text));
  }

  /** Whether a segment may hold a text without slashes. */
  mayHold(text: string): boolean {
    return this.shared.decoded.mayHold(text, this.segments.start, this.effort);
  }

  /** Whether a segment may end with a text without slashes, before it is cut and trimmed or after. `atEnd`: the last one of some reading. */
  mayEndSegment(text: string, atEnd: boolean): boolean {
    const { start, lastKept } = this.segments;
    return this.shared.decoded.mayHoldBefore(text, atEnd ? lastKept : start, this.effort, mayEndName);
  }

  /** Whether a text in lower case may be one to those who decode less than others: it may begin with digits of an escape. */
  mayHoldUndecoded(text: string): boolean {
    return this.shared.undecoded.mayHold(text, 0, this.effort);
  }

  /** What every reading ends with. */
  get end(): string {
    if (this.endKnown !== null) return this.endKnown;
    const end = this.segments.mayEndEarly ? '' : endOf(this.path);
    this.endKnown = this.folds ? end.toLowerCase() : end;
    return this.endKnown;
  }

  /** What stands behind the host of a network-path (RFC 3986 4.2), `//host/path`. Slashes in a decoded path are those that were sent. */
  behindHost(): Readings | null {
    const path = fromPath(this.path);
    const { text } = this.segments;
    const slash = text.indexOf('/', 2);
    const segments = split(text, slash < 0 ? text.length : slash);
    return segments === null ? null : new Readings(path, firstOddity(path), this.folds, segments, this.shared);
  }
}

/** What the readings of a path and those behind its host have in common. */
type Shared = {
  readonly effort: Effort;
  /** The path decoded throughout. */
  readonly decoded: Searched;
  /** The path as it is before each decoding, in lower case. */
  readonly undecoded: Searched;
};

/** Others may cut or trim a segment at a later place than we do. */
const MAY_END_NAME: ReadonlySet<number> = new Set([...'/;:. '].map((char) => char.charCodeAt(0)).concat(PERHAPS_SLASH, PERHAPS_END));
const mayEndName = (code: number): boolean => Number.isNaN(code) || MAY_END_NAME.has(code);

/** How a sent path may be read; undefined where everybody reads it as we do, null where nobody should guess. `folds`: without regard to case. */
export function readingsOf(sent: string, folds: boolean): Readings | null | undefined {
  const path = plainly(sent);
  const first = firstOddity(path);
  return first < 0 ? undefined : readingsFrom(path, first, folds);
}

/**
 * The readings of what a network-path has behind its host, odd or not; undefined for any other path. `whole` are the readings of the path
 * where it has others than ours.
 */
export function readingsBehindHost(sent: string, folds: boolean, whole: Readings | undefined): Readings | null | undefined {
  if (!sent.startsWith('//')) return undefined;
  if (whole !== undefined) return whole.behindHost();
  const path = plainly(fromPath(sent));
  return readingsFrom(path, firstOddity(path), folds);
}

/** What `//host/path` has behind its host. */
function fromPath(path: string): string {
  const slash = path.indexOf('/', 2);
  return slash < 0 ? '/' : path.slice(slash);
}

function readingsFrom(path: string, first: number, folds: boolean): Readings | null {
  if (path.length > LONGEST_READ) return null;
  const decodings = decodingsOf(path);
  if (decodings === null) return null;
  const text = lastOf(decodings, folds);
  const segments = split(text, 0);
  if (segments === null) return null;
  const decoded = new Searched(() => text);
  const undecoded = new Searched(() => (path.includes('%') ? decodings.slice(0, -1).join('\n').toLowerCase() : ''));
  return new Readings(path, first, folds, segments, { effort: new Effort(), decoded, undecoded });
}

function lastOf(decodings: readonly string[], folds: boolean): string {
  const text = decodings[decodings.length - 1] as string;
  return folds ? text.toLowerCase() : text;
}

/** The segments of a pattern, read like those of a path; null where it can't be told what readings of it are. */
export function segmentsOfPattern(pattern: string, folds: boolean): readonly string[] | null {
  const decodings = decodingsOf(plainly(pattern));
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
