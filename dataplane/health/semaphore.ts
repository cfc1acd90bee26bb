/** Lets a limited number of tasks be under way at a time; the others wait their turn. */
export class Turnstile {
  private readonly most: number;
  private readonly waiting = new Set<() => void>();
  private under = 0;

  constructor(most: number) {
    this.most = most;
  }

  /**
   * Runs `task` when there is room; it calls `leave` when it is over, once.
   * @returns the way to wait no longer; a task that has begun has to leave all the same.
   */
  enter(task: (leave: () => void) => void): () => void {
    const begin = () => {
      this.under++;
      task(() => this.left());
    };
    if (this.under < this.most) begin();
    else this.waiting.add(begin);
    return () => void this.waiting.delete(begin);
  }

  private left(): void {
    this.under--;
    const [next] = this.waiting;
    if (next === undefined) return;
    this.waiting.delete(next);
    next();
  }
}
