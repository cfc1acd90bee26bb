/** Limits the number of concurrent tasks; the others wait in order. */
export class Semaphore {
  private readonly permits: number;
  private readonly waiting = new Set<() => void>();
  private active = 0;

  constructor(permits: number) {
    this.permits = permits;
  }

  /**
   * Runs `task` as soon as a permit is free; the task calls `release` once when it is done.
   * @returns a function that stops waiting; a task that has started must still release.
   */
  acquire(task: (release: () => void) => void): () => void {
    const begin = () => {
      this.active++;
      task(() => this.release());
    };
    if (this.active < this.permits) begin();
    else this.waiting.add(begin);
    return () => void this.waiting.delete(begin);
  }

  private release(): void {
    this.active--;
    const [next] = this.waiting;
    if (next === undefined) return;
    this.waiting.delete(next);
    next();
  }
}
