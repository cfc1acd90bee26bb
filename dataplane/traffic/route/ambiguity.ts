import type { Condition } from '../../../shared/condition.ts';
import type { HandleSpec, RouteSpec } from '../../../shared/route.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { rawPath } from '../match/path.ts';
import { foldsPaths } from '../match/pattern.ts';
import { type Readings, readingsBehindHost, readingsOf } from '../match/readings.ts';
import { type ConditionJudgement, judgeCondition, judgePattern, type Verdict } from '../match/verdict.ts';
import { guardsOf } from '../policy/order.ts';
import type { Guard } from '../policy/policy.ts';

/**
 * Whether a path, as it was sent, could mean another block than it means here to someone behind us, or another verdict of
 * something that guards. Asks nothing of paths that everybody reads alike.
 */
export type Ambiguity = (x: Exchange) => boolean;

/** What is asked of a path pattern and a condition together. */
type Question = ConditionJudgement;

type Questions = {
  /** Which block it is, in the order in which they are tried. */
  readonly blocks: readonly {
    readonly matches: Question;
    readonly guards: readonly Question[];
    /** Whether it has a guard of its own, whatever that looks at. */
    readonly guarded: boolean;
  }[];
  /** Whether the guards of the site act. */
  readonly site: readonly Question[];
};

/** null where no path can make a difference: then nothing is asked. */
export function compileAmbiguity(route: RouteSpec): Ambiguity | null {
  if (!dependsOnPaths(route)) return null;
  const folds = foldsPaths(route);
  // Most sites are never asked for a path that anybody could misread.
  let questions: Questions | null = null;
  return (x) => {
    const sent = rawPath(x.target);
    const readings = readingsOf(sent, folds);
    const behind = readings === null ? null : readingsBehindHost(sent, folds, readings);
    if (readings === undefined && behind === undefined) return false;
    x.judged = sent.length;
    if (readings === null || behind === null) return true;
    questions ??= compileQuestions(route, folds);
    const ambiguous =
      (readings !== undefined && isAmbiguous(questions, readings, x)) || (behind !== undefined && mayHideGuard(questions, behind, x));
    x.judged += (readings ?? behind)?.effort.spent ?? 0;
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
 * Whether what stands behind the host of a network-path may meet a guard. Some take `//host/path` for that path; to everybody else it is a
 * slip of the pen like `https://a.test//path`, which goes where one slash would lead as long as nothing is evaded by it.
 */
function mayHideGuard({ blocks, site }: Questions, behind: Readings, x: Exchange): boolean {
  const may = (question: Question): boolean => question(behind, x) !== 'none';
  if (site.some(may)) return true;
  for (const { matches, guards, guarded } of blocks) {
    const verdict = matches(behind, x);
    if (verdict !== 'none' && (guarded || guards.some(may))) return true;
    if (verdict === 'all') return false;
  }
  return false;
}

/** Whether some paths are guarded and others not, be it by a block or by a guard that looks at the path itself. */
function dependsOnPaths(route: RouteSpec): boolean {
  const ofSite = guardsOf(route, null);
  const ofBlocks = route.handles.flatMap((handle) => guardsOf(handle, handle));
  if ([...ofSite, ...ofBlocks].some(isAboutPaths)) return true;
  const choosesByPath = route.handles.some(({ path, match }) => isAboutPaths({ from: path ?? '/*', match }));
  // Who asks for a password in front of a site may let some blocks ask for another one.
  return choosesByPath && (ofBlocks.length > 0 || ofSite.some(({ from, match }) => from === undefined && match === undefined));
}

const isAboutPaths = ({ from = '/*', match }: Guard): boolean =>
  (from !== '/*' && from !== '*') || match?.path !== undefined || match?.not?.some(({ path }) => path !== undefined) === true;

function compileQuestions(route: RouteSpec, folds: boolean): Questions {
  const questionsOf = (part: RouteSpec | HandleSpec, handle: HandleSpec | null): Question[] =>
    guardsOf(part, handle)
      .filter(isAboutPaths)
      .map(({ from, match }) => questionOf(from ?? null, match, folds));
  return {
    site: questionsOf(route, null),
    blocks: route.handles.map((handle) => ({
      matches: questionOf(handle.path, handle.match, folds),
      guards: questionsOf(handle, handle),
      guarded: guardsOf(handle, handle).length > 0,
    })),
  };
}

function questionOf(pattern: string | null, condition: Condition | undefined, folds: boolean): Question {
  const judged = pattern === null ? null : judgePattern(pattern, folds);
  const conditioned = condition === undefined ? null : judgeCondition(condition, folds);
  return (readings, x) => both(judged?.(readings) ?? 'all', conditioned?.(readings, x) ?? 'all');
}

const both = (one: Verdict, other: Verdict): Verdict =>
  one === 'none' || other === 'none' ? 'none' : one === 'some' || other === 'some' ? 'some' : 'all';
