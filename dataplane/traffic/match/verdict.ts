import type { Condition, PlainCondition } from '../../../shared/condition.ts';
import { compileCondition, type MatchedRequest } from './condition.ts';
import { foldedPattern, isBelow } from './pattern.ts';
import { type Readings, segmentsOfPattern } from './readings.ts';

/** Whether the readings of a path match: none of them, every one, or perhaps some and some not. */
export type Verdict = 'none' | 'all' | 'some';

/** Judges all readings at once. It may say `some` where it is `none` or `all`, never the reverse. */
export type Judgement = (readings: Readings) => Verdict;
export type ConditionJudgement = (readings: Readings, x: MatchedRequest) => Verdict;

/** More segments than this in a pattern are not followed. */
const MOST_SEGMENTS = 30;

/** For a path pattern: exact, or everything below a prefix. */
export function judgePattern(written: string, folds: boolean): Judgement {
  const text = foldedPattern(written, folds);
  const below = isBelow(text);
  const start = below ? text.slice(0, -1) : text;
  const isSure = (readings: Readings): boolean => below && readings.beginning.startsWith(start);
  if (!start.startsWith('/')) return start === '' ? () => 'all' : () => 'none';
  const segments = segmentsOfPattern(start, folds);
  const open = below && !start.endsWith('/');
  if (segments === null || segments.length > MOST_SEGMENTS || (open && isUnsteady(start.slice(start.lastIndexOf('/')))))
    return (readings) => (isSure(readings) ? 'all' : 'some');
  return (readings) => (isSure(readings) ? 'all' : reaches(readings, segments, below, open) ? 'some' : 'none');
}

/** Whether nobody can tell how the readings of a segment begin or end that begins or ends with this text. */
const isUnsteady = (text: string): boolean => /[%;:\\]|\.$/.test(text);

/**
 * Whether some reading begins with these segments, or has just these. Follows at once every number of them that may have been met
 * by a segment, as bits: a segment is the next one of the pattern, or is left out where it may be.
 */
function reaches(readings: Readings, wanted: readonly string[], below: boolean, open: boolean): boolean {
  readings.effort.allow();
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

/** For what a path ends with (`*.php`) or holds (as `.php` and `/admin/` between stars). */
function judgePart(written: string, folds: boolean): Judgement {
  const text = folds ? written.toLowerCase() : written;
  const holds = text.length > 1 && text.endsWith('*');
  const core = text.slice(1, holds ? -1 : undefined);
  const pieces = core.split('/').flatMap((piece, nth, all) => pieceOf(piece, nth > 0, nth < all.length - 1, holds, folds) ?? []);
  const isSure = (readings: Readings): boolean => (holds ? readings.surelyHold(core) : readings.end.endsWith(core));
  return (readings) => {
    readings.effort.allow();
    for (const piece of pieces) if (!stands(piece, readings)) return 'none';
    return isSure(readings) ? 'all' : 'some';
  };
}

/** A piece between slashes. */
type Piece = {
  readonly text: string;
  /** Whether it begins and ends with its segment, and whether that is the last one. */
  readonly from: boolean;
  readonly to: boolean;
  readonly atEnd: boolean;
  /** In lower case, where its beginning may be the end of an escape to those who decode less; else null. */
  readonly undecoded: string | null;
};

/** null for one that may stand anywhere, since readings may show or hide it. `from`, `before`: whether a slash stands there; `open`: the pattern ends with a star. */
function pieceOf(piece: string, from: boolean, before: boolean, open: boolean, folds: boolean): Piece | null {
  const [text, ...more] = segmentsOfPattern(`/${piece}`, folds) ?? [];
  const to = before || !open;
  if (text === undefined || more.length > 0 || (!(from && to) && isUnsteady(piece))) return null;
  return { text, from, to, atEnd: !before && !open, undecoded: !from && /^[0-9a-f]/i.test(text) ? text.toLowerCase() : null };
}

/** Whether the piece is in one of the segments, in the last one of some reading where it has to be. */
function stands({ text, from, to, atEnd, undecoded }: Piece, readings: Readings): boolean {
  if (undecoded !== null && readings.mayHoldUndecoded(undecoded)) return true;
  if (!from) return to ? readings.mayEndSegment(text, atEnd) : readings.mayHold(text);
  for (let at = readings.count - 1; at >= 0; at--) {
    if (!readings.effort.spend(1)) return true;
    if (to ? readings.isSegment(at, text) : readings.segmentBegins(at, text)) return true;
    if (atEnd && !readings.isOptional(at)) return false;
  }
  return false;
}

/** For a condition: what it says of the path is judged, what else it says is asked. */
export function judgeCondition(condition: Condition, folds: boolean): ConditionJudgement {
  const matches = judgePlain(condition, folds);
  const exceptions = (condition.not ?? []).map((exception) => judgePlain(exception, folds));
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

function judgePlain({ path, method, header, query, remote_ip }: PlainCondition, folds: boolean): ConditionJudgement {
  const others = { method, header, query, remote_ip };
  const asks = Object.values(others).some((value) => value !== undefined);
  const matches = asks ? compileCondition(others) : () => true;
  const paths = path?.map((text) => (text.startsWith('*') ? judgePart(text, folds) : judgePattern(text, folds)));
  return (readings, x) => {
    if (!matches('', x)) return 'none';
    if (paths === undefined) return 'all';
    let verdict: Verdict = 'none';
    for (const judge of paths) {
      const one = judge(readings);
      if (one === 'all') return 'all';
      if (one === 'some') verdict = 'some';
    }
    return verdict;
  };
}
