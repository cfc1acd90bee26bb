/** How many permits there are, and how many may wait for one. */
const PERMITS = 2;
const MAX_WAITING = 256;

/**
 * Limits work that is expensive for the whole process across all workers. Each permit is a word that is set to the number
 * of its worker by compare-and-swap, and waiters are counted by worker, so that the main thread can free what a dead
 * worker held.
 */
export class SharedSemaphore {
  /** The permits (0 if free, else worker slot + 1), the total number of waiters, and the number per worker. */
  private readonly words: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.words = new Int32Array(buffer);
  }

  static buffer(workers: number): SharedArrayBuffer {
    return new SharedArrayBuffer((PERMITS + 1 + workers) * 4);
  }

  /** @returns false when no permit is free. */
  tryAcquire(worker: number): boolean {
    for (let permit = 0; permit < PERMITS; permit++) if (Atomics.compareExchange(this.words, permit, 0, worker + 1) === 0) return true;
    return false;
  }

  /** Releases a permit of the worker. */
  release(worker: number): void {
    for (let permit = 0; permit < PERMITS; permit++) if (Atomics.compareExchange(this.words, permit, worker + 1, 0) === worker + 1) return;
  }

  /** Counts one more waiter. @returns false if too many are waiting already. */
  enqueue(worker: number): boolean {
    if (Atomics.add(this.words, PERMITS, 1) >= MAX_WAITING) {
      Atomics.sub(this.words, PERMITS, 1);
      return false;
    }
    Atomics.add(this.words, PERMITS + 1 + worker, 1);
    return true;
  }

  /** Counts one waiter of the worker less. */
  dequeue(worker: number): void {
    Atomics.sub(this.words, PERMITS + 1 + worker, 1);
    Atomics.sub(this.words, PERMITS, 1);
  }

  /** Whether another worker has waiters. */
  othersWait(worker: number): boolean {
    return Atomics.load(this.words, PERMITS) > Atomics.load(this.words, PERMITS + 1 + worker);
  }

  /** Frees the places that a dead worker held. */
  clearWorker(worker: number): void {
    for (let permit = 0; permit < PERMITS; permit++) Atomics.compareExchange(this.words, permit, worker + 1, 0);
    Atomics.sub(this.words, PERMITS, Atomics.exchange(this.words, PERMITS + 1 + worker, 0));
  }
}
