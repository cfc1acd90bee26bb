import type { UndatedProblem } from '../../source.ts';

/** How many problems of one container are reported. */
export const MAX_PROBLEMS_PER_CONTAINER = 100;

/** The problems of containers. Labels can contain thousands of mistakes, each of them for thousands of domains. */
export class ProblemList {
  private readonly problems: UndatedProblem[] = [];
  /** How many each origin has. */
  private readonly counts = new Map<string, number>();

  /** Adds those of one container. Those beyond the limit are not even computed; the last one says that there are more. */
  add(problems: Iterable<UndatedProblem>): void {
    for (const problem of problems) {
      const count = (this.counts.get(problem.origin) ?? 0) + 1;
      this.counts.set(problem.origin, count);
      if (count > MAX_PROBLEMS_PER_CONTAINER) return;
      const isLast = count === MAX_PROBLEMS_PER_CONTAINER;
      this.problems.push(
        isLast ? { ...problem, message: `${problem.message}; further problems of this container are not listed` } : problem,
      );
    }
  }

  list(): readonly UndatedProblem[] {
    return this.problems;
  }
}
