/** How many may have a turn at once, and how many may wait for one. */
const SEATS = 2;
const MOST_WAITING = 256;

/**
 * Turns at work that the whole process may do only so much of at once, whichever worker it is for. Two
 * seats, taken by compare-and-swap of the worker's number, and a count of who waits: what a worker that
 * died held is freed by the main thread.
 */
export class Turns {
  /** The seats (0 free, else slot + 1), how many wait in all, and how many of each worker. */
  private readonly cells: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.cells = new Int32Array(buffer);
  }

  static buffer(workers: number): SharedArrayBuffer {
    return new SharedArrayBuffer((SEATS + 1 + workers) * 4);
  }

  /** Takes a seat. @returns false when none is free. */
  take(slot: number): boolean {
    for (let seat = 0; seat < SEATS; seat++) if (Atomics.compareExchange(this.cells, seat, 0, slot + 1) === 0) return true;
    return false;
  }

  /** Gives a seat of the worker back. */
  give(slot: number): void {
    for (let seat = 0; seat < SEATS; seat++) if (Atomics.compareExchange(this.cells, seat, slot + 1, 0) === slot + 1) return;
  }

  /** Joins those who wait. @returns false when they are too many already. */
  join(slot: number): boolean {
    if (Atomics.add(this.cells, SEATS, 1) >= MOST_WAITING) {
      Atomics.sub(this.cells, SEATS, 1);
      return false;
    }
    Atomics.add(this.cells, SEATS + 1 + slot, 1);
    return true;
  }

  /** Waits no longer. */
  leave(slot: number): void {
    Atomics.sub(this.cells, SEATS + 1 + slot, 1);
    Atomics.sub(this.cells, SEATS, 1);
  }

  /** Whether someone of another worker waits. */
  othersWait(slot: number): boolean {
    return Atomics.load(this.cells, SEATS) > Atomics.load(this.cells, SEATS + 1 + slot);
  }

  /** The worker is gone, and with it its claims. */
  clearWorker(slot: number): void {
    for (let seat = 0; seat < SEATS; seat++) Atomics.compareExchange(this.cells, seat, slot + 1, 0);
    Atomics.sub(this.cells, SEATS, Atomics.exchange(this.cells, SEATS + 1 + slot, 0));
  }
}
