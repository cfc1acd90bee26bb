/** Steps that judging a path may take, and more for each pattern that it is compared with: who writes many pays for them. */
const MOST_STEPS = 1_000;
const STEPS_PER_PATTERN = 12;

/** What judging a path costs, in steps: one is about what it costs to compare a segment with a text. Without an end nobody asks for it. */
export class Effort {
  spent = 0;
  private most = MOST_STEPS;

  /** One more pattern. */
  allow(): void {
    this.most += STEPS_PER_PATTERN;
  }

  /** @returns whether the judgement may go on; otherwise it has to say what is safe. */
  spend(steps: number): boolean {
    this.spent += steps;
    return this.spent <= this.most;
  }
}
