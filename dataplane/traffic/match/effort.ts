/**
 * Steps that checking one path may take, plus an allowance for each pattern that it is compared with: a site with many patterns gets more.
 */
const MAX_STEPS = 1_000;
const STEPS_PER_PATTERN = 12;

/**
 * What checking a path costs, in steps. One step is about the cost of comparing a segment with a text. The limit keeps a hostile path from
 * occupying a worker.
 */
export class Effort {
  spent = 0;
  private most = MAX_STEPS;

  /** Raises the limit for one more pattern. */
  addPattern(): void {
    this.most += STEPS_PER_PATTERN;
  }

  /** @returns whether the check may continue. If not, it must return the safe result. */
  spend(steps: number): boolean {
    this.spent += steps;
    return this.spent <= this.most;
  }
}
