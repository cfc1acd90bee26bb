import type { Condition } from '../../../shared/condition.ts';
import type { HandleSpec, RouteSpec } from '../../../shared/route.ts';
import { LONGEST_TEXT } from '../../../shared/values/regexp.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { compileCondition } from '../match/condition.ts';
import { rawPath, withoutPrefix } from '../match/path.ts';
import { compilePattern } from '../match/pattern.ts';
import { type Readings, readingsAfterHost, readingsOf, restsAfterHost } from '../match/readings.ts';
import { evaluatorForCondition, evaluatorForPattern, type Verdict } from '../match/verdict.ts';
import { guardsOf } from '../policy/order.ts';
import { type BlockTraits, dependsOnExpressions, dependsOnMethods, dependsOnPaths, isAboutPaths } from './block-traits.ts';

/**
 * Whether an upstream could interpret a path or method, as it was sent, so that the request belongs to a different block than here, or gets
 * a different result from a guard. Costs nothing for unambiguous paths.
 */
export type Ambiguity = (x: Exchange) => boolean;

/** Tests a path pattern and a condition together, for all readings of a path. */
type Question = ((readings: Readings, x: Exchange) => Verdict) & {
  /** The same for the path as it is read here. */
  readonly holds: (x: Exchange) => boolean;
};

type Questions = {
  /** The block's index in matching order. */
  readonly blocks: readonly {
    readonly matches: Question;
    readonly guards: readonly Question[];
    /** Whether it has a guard of its own, of any kind. */
    readonly guarded: boolean;
    /** Whether it is exempt from the maintenance of its site. */
    readonly exempt: boolean;
    /** The prefix that is taken off the path; empty for none. */
    readonly strip: string;
  }[];
  /** Whether one of them takes a prefix off. */
  readonly strips: boolean;
  /** Whether the site's guards apply. */
  readonly site: readonly Question[];
  /** Whether the site's maintenance does, while it is on. */
  readonly closed: Question;
};

/**
 * null if no path and no method can make a difference; then there is no check. `traits` and `whole` are of the route with all of its blocks.
 */
export function compileAmbiguity(traits: BlockTraits, folds: boolean, whole: () => RouteSpec): Ambiguity | null {
  const ofPath = dependsOnPaths(traits) ? compilePathAmbiguity(traits, folds, whole) : null;
  if (!dependsOnMethods(traits)) return ofPath;
  return (x) => LOWER_CASE.test(x.method) || ofPath?.(x) === true;
}

/** Methods are case-sensitive (RFC 9110 9.1), but many frameworks take `delete` for DELETE. */
const LOWER_CASE = /[a-z]/;

function compilePathAmbiguity(traits: BlockTraits, folds: boolean, whole: () => RouteSpec): Ambiguity {
  // An expression never matches a longer path, not even one below a path that it guards.
  const longest = dependsOnExpressions(traits) ? LONGEST_TEXT : Number.POSITIVE_INFINITY;
  // Most sites never get a request with an ambiguous path.
  let questions: Questions | null = null;
  return (x) => {
    if (x.path.length > longest) return true;
    const sent = rawPath(x.target);
    const readings = readingsOf(sent, folds);
    const behind = readings === null ? null : readingsAfterHost(sent, folds, readings);
    if (readings === undefined && behind === undefined && sent.lastIndexOf('//') <= 0) return false;
    x.pathCost = sent.length;
    if (readings === null || behind === null) return true;
    questions ??= compileQuestions(whole(), folds);
    const ambiguous =
      (readings !== undefined && isAmbiguous(questions, readings, x)) ||
      (behind !== undefined && mayMatchGuard(questions, behind, x)) ||
      mayLoseHost(questions, sent, folds, x);
    x.pathCost += (readings ?? behind)?.effort.spent ?? 0;
    return ambiguous;
  };
}

function isAmbiguous({ blocks, site }: Questions, readings: Readings, x: Exchange): boolean {
  const differs = (question: Question): boolean => question(readings, x) === 'some';
  for (const { matches, guards } of blocks) {
    const verdict = matches(readings, x);
    if (verdict === 'some') return true;
    if (verdict === 'all') return guards.some(differs) || site.some(differs);
  }
  return site.some(differs);
}

/**
 * Whether the path after the host of a network-path reference may match a guard. Some servers read `//host/path` as that path; for all
 * others it is a typo like `https://a.test//path`, which is treated like a single slash unless that would evade a guard.
 */
function mayMatchGuard({ blocks, site, closed }: Questions, behind: Readings, x: Exchange): boolean {
  const may = (question: Question): boolean => question(behind, x) !== 'none';
  if (site.some(may)) return true;
  const own = blocks.find(({ matches }) => matches.holds(x));
  // What it is exempt from applies everywhere else.
  const escapes = own?.exempt === true && may(closed);
  for (const block of blocks) {
    const verdict = block.matches(behind, x);
    if (verdict !== 'none' && (block.guarded || block.guards.some(may) || (escapes && !block.exempt))) return true;
    if (verdict === 'all') return false;
  }
  return escapes;
}

/**
 * Whether the upstream, which gets a path without the prefix that its block takes off, may read the rest so that the whole would match a
 * guard that it does not match here: without `/api`, `/api//host/admin` is `//host/admin`.
 */
function mayLoseHost(questions: Questions, sent: string, folds: boolean, x: Exchange): boolean {
  if (!questions.strips) return false;
  const { blocks } = questions;
  const nth = blocks.findIndex(({ matches }) => matches.holds(x));
  x.pathCost += nth < 0 ? blocks.length : nth + 1;
  const own = blocks[nth];
  if (own === undefined || own.strip === '') return false;
  const rest = withoutPrefix(sent, own.strip, folds);
  return restsAfterHost(rest, folds).some((path) => {
    const readings = readingsAfterHost(`//host${own.strip}/${path}`, folds, undefined);
    const evading = evades(questions, own, readings, x);
    x.pathCost += path.length + (readings?.effort.spent ?? 0);
    return evading;
  });
}

/** Whether a path with these readings may match a guard that the path of the request, which belongs to the block `own`, does not match. */
function evades(
  { blocks, site }: Questions,
  own: Questions['blocks'][number],
  readings: Readings | null | undefined,
  x: Exchange,
): boolean {
  if (readings == null) return true;
  const differs = (question: Question): boolean => question(readings, x) !== 'none' && !question.holds(x);
  if (site.some(differs)) return true;
  for (const block of blocks) {
    const verdict = block.matches(readings, x);
    if (verdict !== 'none' && ((block.guarded && block !== own) || block.guards.some(differs))) return true;
    if (verdict === 'all') return false;
  }
  return false;
}

function compileQuestions(route: RouteSpec, folds: boolean): Questions {
  const questionsOf = (part: RouteSpec | HandleSpec, handle: HandleSpec | null): Question[] =>
    guardsOf(part, handle)
      .filter(isAboutPaths)
      .map(({ from, match }) => questionOf(from ?? null, match, folds));
  return {
    site: questionsOf(route, null),
    closed: questionOf(null, route.maintenance?.match, folds),
    strips: route.handles.some(({ strip_prefix }) => strip_prefix),
    blocks: route.handles.map((handle) => ({
      matches: questionOf(handle.path, handle.match, folds),
      guards: questionsOf(handle, handle),
      guarded: guardsOf(handle, handle).length > 0,
      exempt:
        route.maintenance?.on === true && handle.maintenance != null && (!handle.maintenance.on || handle.maintenance.match !== undefined),
      strip: handle.strip_prefix && handle.path !== null ? compilePattern(handle.path, folds).prefix : '',
    })),
  };
}

function questionOf(pattern: string | null, condition: Condition | undefined, folds: boolean): Question {
  const pathCost = pattern === null ? null : evaluatorForPattern(pattern, folds);
  const conditioned = condition === undefined ? null : evaluatorForCondition(condition, folds);
  const written = pattern === null ? null : compilePattern(pattern, folds);
  const test = condition === undefined ? null : compileCondition(condition, folds);
  return Object.assign((readings: Readings, x: Exchange) => both(pathCost?.(readings) ?? 'all', conditioned?.(readings, x) ?? 'all'), {
    holds: (x: Exchange) => (written?.matches(x.path) ?? true) && (test?.(x.path, x) ?? true),
  });
}

const both = (one: Verdict, other: Verdict): Verdict =>
  one === 'none' || other === 'none' ? 'none' : one === 'some' || other === 'some' ? 'some' : 'all';
