import type { Condition, PlainCondition } from '../../../shared/condition.ts';
import { compileCondition, type MatchedRequest } from './condition.ts';
import { foldedPattern, isBelow } from './pattern.ts';
import { type Readings, segmentsOfPattern } from './readings.ts';

/** Whether the readings of a path match: none of them, all of them, or possibly some but not others. */
export type Verdict = 'none' | 'all' | 'some';

/** Evaluates all readings at once. It may return `some` for `none` or `all`, but never the reverse. */
export type Evaluator = (readings: Readings) => Verdict;
export type ConditionEvaluator = (readings: Readings, x: MatchedRequest) => Verdict;

/** A pattern with more segments is not evaluated segment by segment. */
const MAX_SEGMENTS = 30;

/** For a path pattern: exact, or everything below a prefix. */
export function evaluatorForPattern(written: string, folds: boolean): Evaluator {
  const text = foldedPattern(written, folds);
  const below = isBelow(text);
  const start = below ? text.slice(0, -1) : text;
  const isSure = (readings: Readings): boolean => below && readings.beginning.startsWith(start);
  if (!start.startsWith('/')) return start === '' ? () => 'all' : () => 'none';
  const segments = segmentsOfPattern(start, folds);
  const open = below && !start.endsWith('/');
  if (segments === null || segments.length > MAX_SEGMENTS || (open && isAmbiguousAtEdge(start.slice(start.lastIndexOf('/')))))
    return (readings) => (isSure(readings) ? 'all' : 'some');
  return (readings) => (isSure(readings) ? 'all' : mayMatch(readings, segments, below, open) ? 'some' : 'none');
}

/** Whether the text may be changed at the edge of a segment: some server decodes, cuts or trims it there. */
const isAmbiguousAtEdge = (text: string): boolean => /[%;:\\]|\.$/.test(text);

/**
 * Whether some reading begins with these segments, or consists of just these. The bits of `met` track all counts of pattern segments that
 * may have matched so far: each segment of the path either matches the next one of the pattern or, if optional, is omitted.
 */
function mayMatch(readings: Readings, wanted: readonly string[], below: boolean, open: boolean): boolean {
  readings.effort.addPattern();
  const goal = 1 << wanted.length;
  let met = 1;
  for (let at = 0; at < readings.count && met !== 0; at++) {
    let next = readings.isOptional(at) ? met : 0;
    for (let nth = 0; nth < wanted.length; nth++) {
      if ((met & (1 << nth)) === 0) continue;
      if (!readings.effort.spend(1)) return true;
      const isLast = nth === wanted.length - 1;
      const want = wanted[nth] as string;
      if (!(open && isLast ? readings.segmentBegins(at, want) : readings.isSegment(at, want))) continue;
      if (isLast && below && (open || readings.isFollowed(at))) return true;
      next |= 1 << (nth + 1);
    }
    met = next;
  }
  return !below && (met & goal) !== 0;
}

/** For the end of a path (`*.php`) or a part of it (such as `.php` or `/admin/` between stars). */
function evaluatorForPart(written: string, folds: boolean): Evaluator {
  const text = folds ? written.toLowerCase() : written;
  const holds = text.length > 1 && text.endsWith('*');
  const core = text.slice(1, holds ? -1 : undefined);
  const pieces = core.split('/').flatMap((piece, nth, all) => pieceOf(piece, nth > 0, nth < all.length - 1, holds, folds) ?? []);
  const isSure = (readings: Readings): boolean => (holds ? readings.alwaysContains(core) : readings.end.endsWith(core));
  return (readings) => {
    readings.effort.addPattern();
    for (const piece of pieces) if (!mayOccur(piece, readings)) return 'none';
    return isSure(readings) ? 'all' : 'some';
  };
}

/** The part of a pattern between two slashes. */
type SegmentPattern = {
  readonly text: string;
  /** Whether it must match from the beginning of its segment and to its end, and whether the segment must be the last one. */
  readonly from: boolean;
  readonly to: boolean;
  readonly atEnd: boolean;
  /** In lower case if its beginning may be the end of an escape to servers that decode less; else null. */
  readonly undecoded: string | null;
  /** Whether it consists of dots, with which also segments begin that are no names to most servers. */
  readonly isDots: boolean;
};

const DOTS = /^\.+$/;

/**
 * null for a piece that can't be located, because readings may add or remove it. `from`, `before`: whether it follows or precedes a slash.
 * `open`: the pattern ends with a star.
 */
function pieceOf(piece: string, from: boolean, before: boolean, open: boolean, folds: boolean): SegmentPattern | null {
  const to = before || !open;
  if (from && !to && DOTS.test(piece)) return { text: piece, from, to, atEnd: false, undecoded: null, isDots: true };
  const [text, ...more] = segmentsOfPattern(`/${piece}`, folds) ?? [];
  if (text === undefined || more.length > 0 || (!(from && to) && isAmbiguousAtEdge(piece))) return null;
  const undecoded = !from && /^[0-9a-f]/i.test(text) ? text.toLowerCase() : null;
  return { text, from, to, atEnd: !before && !open, undecoded, isDots: false };
}

/** Whether the piece may occur in a segment, or in the last segment of some reading if it must. */
function mayOccur({ text, from, to, atEnd, undecoded, isDots }: SegmentPattern, readings: Readings): boolean {
  if (undecoded !== null && readings.mayContainUndecoded(undecoded)) return true;
  if (isDots) return readings.mayBeginName(text);
  if (!from) return to ? readings.mayEndSegment(text, atEnd) : readings.mayContain(text);
  for (let at = readings.count - 1; at >= 0; at--) {
    if (!readings.effort.spend(1)) return true;
    if (to ? readings.isSegment(at, text) : readings.segmentBegins(at, text)) return true;
    if (atEnd && !readings.isOptional(at)) return false;
  }
  return false;
}

/** For a condition: its paths are evaluated for all readings, and its other members for the request. */
export function evaluatorForCondition(condition: Condition, folds: boolean): ConditionEvaluator {
  const matches = evaluatorForPlain(condition, folds);
  const exceptions = (condition.not ?? []).map((exception) => evaluatorForPlain(exception, folds));
  return (readings, x) => {
    let verdict = matches(readings, x);
    if (verdict === 'none') return 'none';
    for (const isException of exceptions) {
      const excepted = isException(readings, x);
      if (excepted === 'all') return 'none';
      if (excepted === 'some') verdict = 'some';
    }
    return verdict;
  };
}

function evaluatorForPlain({ path, path_regexp, ...others }: PlainCondition, folds: boolean): ConditionEvaluator {
  const hasOthers = Object.values(others).some((value) => value !== undefined);
  const matches = hasOthers ? compileCondition(others) : () => true;
  const paths = path?.map((text) => (text.startsWith('*') ? evaluatorForPart(text, folds) : evaluatorForPattern(text, folds)));
  return (readings, x) => {
    if (!matches('', x)) return 'none';
    // What an expression matches in other readings is not known.
    const expression: Verdict = path_regexp === undefined ? 'all' : 'some';
    if (paths === undefined) return expression;
    let verdict: Verdict = 'none';
    for (const evaluate of paths) {
      const one = evaluate(readings);
      if (one === 'all') return expression;
      if (one === 'some') verdict = 'some';
    }
    return verdict;
  };
}
