import type { UndatedProblem } from './source.ts';

/** How many problems of one container, or of one object of a cluster, are reported. */
export const MAX_PROBLEMS_PER_ORIGIN = 100;

/** The problems of containers or objects. One can contain thousands of mistakes, each of them for thousands of domains. */
export class ProblemList {
  private readonly problems: UndatedProblem[] = [];
  /** How many each origin has. */
  private readonly counts = new Map<string, number>();
  private readonly noun: string;

  /** `noun`: what the origins are, for the last problem of one that has more. */
  constructor(noun: 'container' | 'object') {
    this.noun = noun;
  }

  /** Adds those of one origin. Those beyond the limit are not even computed; the last one says that there are more. */
  add(problems: Iterable<UndatedProblem>): void {
    for (const problem of problems) {
      const count = (this.counts.get(problem.origin) ?? 0) + 1;
      this.counts.set(problem.origin, count);
      if (count > MAX_PROBLEMS_PER_ORIGIN) return;
      const isLast = count === MAX_PROBLEMS_PER_ORIGIN;
      this.problems.push(
        isLast ? { ...problem, message: `${problem.message}; further problems of this ${this.noun} are not listed` } : problem,
      );
    }
  }

  /** Whether no more are reported of an origin. */
  isFull(origin: string): boolean {
    return (this.counts.get(origin) ?? 0) >= MAX_PROBLEMS_PER_ORIGIN;
  }

  list(): readonly UndatedProblem[] {
    return this.problems;
  }
}
