/** Runs one task at a time, in order of arrival. */
export class Mutex {
  private last: Promise<void> = Promise.resolve();
  /** What rejects each task that has not begun. */
  private readonly waiting = new Set<(reason: Error) => void>();
  private refusal: Error | null = null;

  run<T>(task: () => Promise<T>): Promise<T> {
    if (this.refusal !== null) return Promise.reject(this.refusal);
    return new Promise<T>((resolve, reject) => {
      this.waiting.add(reject);
      this.last = this.last.then(() => (this.waiting.delete(reject) ? task().then(resolve, reject) : undefined));
    });
  }

  /** Fails the tasks that have not begun, and further ones until `accept`. The one in progress continues. */
  refuse(reason: Error): void {
    this.refusal = reason;
    for (const reject of this.waiting) reject(reason);
    this.waiting.clear();
  }

  accept(): void {
    this.refusal = null;
  }
}
