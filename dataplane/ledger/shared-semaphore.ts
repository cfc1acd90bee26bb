/** How many may hold the semaphore at once, and how many may wait for it. */
const PERMITS = 2;
const MOST_WAITING = 256;

/**
 * Limits work that is expensive for the whole process, over all workers. Each permit is a word that is set to the number of
 * its worker by compare-and-swap, and those that wait are counted by worker: what a worker that died held is freed by the
 * main thread.
 */
export class SharedSemaphore {
  /** The permits (0 free, else worker slot + 1), how many wait in all, and how many of each worker. */
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

  /** Gives back a permit of the worker. */
  release(worker: number): void {
    for (let permit = 0; permit < PERMITS; permit++) if (Atomics.compareExchange(this.words, permit, worker + 1, 0) === worker + 1) return;
  }

  /** Counts one more that waits. @returns false when too many wait already. */
  enqueue(worker: number): boolean {
    if (Atomics.add(this.words, PERMITS, 1) >= MOST_WAITING) {
      Atomics.sub(this.words, PERMITS, 1);
      return false;
    }
    Atomics.add(this.words, PERMITS + 1 + worker, 1);
    return true;
  }

  /** One of the worker waits no longer. */
  dequeue(worker: number): void {
    Atomics.sub(this.words, PERMITS + 1 + worker, 1);
    Atomics.sub(this.words, PERMITS, 1);
  }

  /** Whether another worker has any that wait. */
  othersWait(worker: number): boolean {
    return Atomics.load(this.words, PERMITS) > Atomics.load(this.words, PERMITS + 1 + worker);
  }

  /** Frees what a worker that is gone held. */
  clearWorker(worker: number): void {
    for (let permit = 0; permit < PERMITS; permit++) Atomics.compareExchange(this.words, permit, worker + 1, 0);
    Atomics.sub(this.words, PERMITS, Atomics.exchange(this.words, PERMITS + 1 + worker, 0));
  }
}
