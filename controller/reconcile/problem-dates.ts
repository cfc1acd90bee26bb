import type { Clock } from '../../shared/runtime/clock.ts';
import type { Problem } from '../../shared/wire/apply.ts';
import type { UndatedProblem } from '../sources/source.ts';

/** Limits of a problem line; see `problemSchema`. */
const MAX_ORIGIN = 1_024;
const MAX_MESSAGE = 8_192;

/** Adds to each problem the time since when it has existed. */
export function trackProblemDates(clock: Clock): (problems: readonly UndatedProblem[]) => Problem[] {
  let known = new Map<string, string>();
  return (problems) => {
    const next = new Map<string, string>();
    const now = new Date(clock.now()).toISOString();
    const dated = problems.map((problem) => {
      const key = JSON.stringify([problem.source, problem.origin, problem.domain, problem.code, problem.message]);
      const since = known.get(key) ?? now;
      next.set(key, since);
      return { ...problem, origin: problem.origin.slice(0, MAX_ORIGIN), message: problem.message.slice(0, MAX_MESSAGE), since };
    });
    known = next;
    return dated;
  };
}
