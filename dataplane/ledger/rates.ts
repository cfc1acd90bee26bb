import { SharedHashTable } from './hash-table.ts';

/** The maximum number of client and route pairs tracked at once; beyond that, the one idle for longest is forgotten. */
const CAPACITY = 1 << 17;
/** A key that has been idle for this long is forgotten by the next sweep (ms), but not before two windows have passed. */
const IDLE_MS = 60_000;

/**
 * A counter word has the low bits of its window's number above the count. 12 bits of the shortest windows, of a second, wrap around in 68
 * minutes; `sweep` runs sooner.
 */
const COUNT_BITS = 20;
const COUNT_MASK = (1 << COUNT_BITS) - 1;
const WINDOW_MASK = 0xfff;

/**
 * The sliding-window estimator of the contract, exact over workers. The requests of the last second (minute, hour) are those of
 * this window plus the overlapping fraction of the previous one. Each key has two words, one for even and one for
 * odd windows, updated by compare-and-swap.
 */
export class Rates {
  private readonly slots: SharedHashTable;
  private readonly counts: Int32Array;
  private readonly windowMs: number;

  constructor(buffer: SharedArrayBuffer, windowMs: number) {
    this.windowMs = windowMs;
    this.slots = new SharedHashTable(new Int32Array(buffer, 0, CAPACITY));
    this.counts = new Int32Array(buffer, CAPACITY * 4);
  }

  static buffer(): SharedArrayBuffer {
    return new SharedArrayBuffer(CAPACITY * 12);
  }

  /** Counts one request of the key at `now` (ms since 1970) if that keeps it within `limit` per window. @returns whether it did. */
  admit(hash: number, fingerprint: number, limit: number, now: number): boolean {
    const { windowMs } = this;
    const window = Math.floor(now / windowMs);
    const reach = 1 - (now % windowMs) / windowMs;
    const slot = this.slots.findOrInsert(hash, fingerprint, (other) => this.idle(other, window), this.clear);
    const word = slot * 2 + (window & 1);
    const before = this.countOf(slot * 2 + ((window - 1) & 1), window - 1) * reach;
    for (;;) {
      const seen = Atomics.load(this.counts, word);
      const count = windowOf(seen) === (window & WINDOW_MASK) ? seen & COUNT_MASK : 0;
      if (count + before + 1 > limit || count === COUNT_MASK) return false;
      if (Atomics.compareExchange(this.counts, word, seen, pack(window, count + 1)) === seen) return true;
    }
  }

  /** What `admit` would return, without counting. */
  wouldAdmit(hash: number, fingerprint: number, limit: number, now: number): boolean {
    const slot = this.slots.find(hash, fingerprint);
    if (slot < 0) return limit >= 1;
    const { windowMs } = this;
    const window = Math.floor(now / windowMs);
    const reach = 1 - (now % windowMs) / windowMs;
    return this.countOf(slot * 2 + (window & 1), window) + this.countOf(slot * 2 + ((window - 1) & 1), window - 1) * reach + 1 <= limit;
  }

  /** When `admit` would admit the key again if nothing else were counted (ms from `now`); 0 if it would now. */
  waitMs(hash: number, fingerprint: number, limit: number, now: number): number {
    const slot = this.slots.find(hash, fingerprint);
    if (slot < 0) return 0;
    const { windowMs } = this;
    const window = Math.floor(now / windowMs);
    const passed = (now % windowMs) / windowMs;
    const before = this.countOf(slot * 2 + ((window - 1) & 1), window - 1);
    const count = this.countOf(slot * 2 + (window & 1), window);
    // The fraction of a window that must have passed until what still counts of the one before leaves room for one more.
    const wanted = (previous: number, current: number): number => Math.max(0, 1 - (limit - 1 - current) / previous);
    if (count < limit) return before === 0 ? 0 : Math.max(0, wanted(before, count) - passed) * windowMs;
    return (1 - passed + wanted(count, 0)) * windowMs;
  }

  /** Frees the slots of keys that have been idle for two windows. The main thread calls it at least every 10 minutes. */
  sweep(now: number): void {
    const window = Math.floor(now / this.windowMs);
    const forgotten = Math.max(2, IDLE_MS / this.windowMs);
    for (let slot = 0; slot < this.slots.capacity; slot++) {
      if (!this.slots.used(slot) || this.idle(slot, window) < forgotten) continue;
      this.clear(slot);
      this.slots.free(slot);
    }
  }

  private readonly clear = (slot: number): void => {
    Atomics.store(this.counts, slot * 2, 0);
    Atomics.store(this.counts, slot * 2 + 1, 0);
  };

  /** Windows since the key was last counted. */
  private idle(slot: number, window: number): number {
    const even = (window - windowOf(Atomics.load(this.counts, slot * 2))) & WINDOW_MASK;
    const odd = (window - windowOf(Atomics.load(this.counts, slot * 2 + 1))) & WINDOW_MASK;
    return Math.min(even, odd);
  }

  private countOf(word: number, window: number): number {
    const seen = Atomics.load(this.counts, word);
    return windowOf(seen) === (window & WINDOW_MASK) ? seen & COUNT_MASK : 0;
  }
}

const windowOf = (word: number): number => word >>> COUNT_BITS;
const pack = (window: number, count: number): number => ((window & WINDOW_MASK) << COUNT_BITS) | count;
