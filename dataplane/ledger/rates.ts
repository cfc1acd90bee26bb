import { SharedHashTable } from './hash-table.ts';

/** The maximum number of client and route pairs tracked at once; beyond that, the one idle for longest is forgotten. */
const CAPACITY = 1 << 17;
/** A key that has been idle for this long is forgotten by the next sweep (ms), but not before two windows have passed. */
const IDLE_MS = 60_000;

/** A window slides in this many parts. */
const PARTS = 8;
/** The counts of a key: those of the current part and of the parts that the window overlaps besides. */
const COUNTS = PARTS + 1;

/**
 * A counter word has the low bits of its part's number above the count. A word is used for every ninth part, so parts are told apart for a
 * cycle: 76 minutes with the shortest windows, of a second. `sweep` runs sooner.
 */
const COUNT_BITS = 20;
const COUNT_MASK = (1 << COUNT_BITS) - 1;
const PART_MASK = 0xfff;
const CYCLE = COUNTS * (PART_MASK + 1);

/**
 * The sliding-window estimator of the contract, exact over workers. The requests of the last second (minute, hour) are those of the current
 * part of a window and of the seven before, and the fraction of the eighth that the window still overlaps, rounded down. With only one part
 * before, clients that stay within a small limit would be refused. See decision 0143. Each key has a ring of words, updated by
 * compare-and-swap.
 */
export class Rates {
  private readonly slots: SharedHashTable;
  private readonly counts: Int32Array;
  private readonly partMs: number;

  constructor(buffer: SharedArrayBuffer, windowMs: number) {
    this.partMs = windowMs / PARTS;
    this.slots = new SharedHashTable(new Int32Array(buffer, 0, CAPACITY));
    this.counts = new Int32Array(buffer, CAPACITY * 4);
  }

  static buffer(): SharedArrayBuffer {
    return new SharedArrayBuffer(CAPACITY * 4 * (1 + COUNTS));
  }

  /** Counts one request of the key at `now` (ms since 1970) if that keeps it within `limit` per window. @returns whether it did. */
  admit(hash: number, fingerprint: number, limit: number, now: number): boolean {
    const part = this.partAt(now);
    const slot = this.claim(hash, fingerprint, part);
    const word = wordOf(slot, part);
    const before = this.countBefore(slot, part, now);
    for (;;) {
      const seen = Atomics.load(this.counts, word);
      const count = partOf(seen) === (part & PART_MASK) ? seen & COUNT_MASK : 0;
      if (count + before + 1 > limit || count === COUNT_MASK) return false;
      if (Atomics.compareExchange(this.counts, word, seen, pack(part, count + 1)) === seen) return true;
    }
  }

  /** What `admit` would return, without counting. */
  wouldAdmit(hash: number, fingerprint: number, limit: number, now: number): boolean {
    const slot = this.slots.find(hash, fingerprint);
    if (slot < 0) return limit >= 1;
    const part = this.partAt(now);
    return this.countOf(slot, part, 0) + this.countBefore(slot, part, now) + 1 <= limit;
  }

  /** When `admit` would admit the key again if nothing else were counted (ms from `now`); 0 if it would now. */
  waitMs(hash: number, fingerprint: number, limit: number, now: number): number {
    const slot = this.slots.find(hash, fingerprint);
    if (slot < 0) return 0;
    const part = this.partAt(now);
    const counts = Array.from({ length: COUNTS }, (_, ago) => this.countOf(slot, part, ago));
    let whole = counts.reduce((sum, count) => sum + count, 0);
    let later = -1;
    let last: number;
    do {
      last = counts.pop() ?? 0;
      whole -= last;
      later++;
    } while (whole >= limit && counts.length > 0);
    const room = limit - 1 - whole;
    // So much of that part must have passed that what still counts of the last one leaves room for one more.
    const passed = last > room ? 1 - (room + 1) / last : 0;
    return Math.max(0, (later + passed) * this.partMs - (now % this.partMs));
  }

  /** Notes the key at `now`, once for each part of a window. */
  note(hash: number, fingerprint: number, now: number): void {
    const part = this.partAt(now);
    const slot = this.claim(hash, fingerprint, part);
    const word = wordOf(slot, part);
    const seen = Atomics.load(this.counts, word);
    if (this.countOf(slot, part, 0) === 0) Atomics.compareExchange(this.counts, word, seen, pack(part, 1));
  }

  /** Whether the key was noted within the last window, or less than a part before. */
  noted(hash: number, fingerprint: number, now: number): boolean {
    const slot = this.slots.find(hash, fingerprint);
    if (slot < 0) return false;
    const part = this.partAt(now);
    for (let ago = 0; ago <= PARTS; ago++) if (this.countOf(slot, part, ago) > 0) return true;
    return false;
  }

  /** Frees the slots of keys that have been idle for two windows. The main thread calls it at least every 10 minutes. */
  sweep(now: number): void {
    const part = this.partAt(now);
    const forgotten = Math.max(2 * PARTS, IDLE_MS / this.partMs);
    for (let slot = 0; slot < this.slots.capacity; slot++) {
      if (!this.slots.used(slot) || this.idle(slot, part) < forgotten) continue;
      this.clear(slot);
      this.slots.free(slot);
    }
  }

  /** The number of a part in its cycle. */
  private partAt(now: number): number {
    return Math.floor(now / this.partMs) % CYCLE;
  }

  private claim(hash: number, fingerprint: number, part: number): number {
    return this.slots.findOrInsert(hash, fingerprint, (other) => this.idle(other, part), this.clear);
  }

  /** What counts of the parts before `part`, in which `now` is. */
  private countBefore(slot: number, part: number, now: number): number {
    const reach = 1 - (now % this.partMs) / this.partMs;
    // A request that is exactly a window old does not count, nor does less than a whole one.
    let count = Math.max(0, Math.ceil(this.countOf(slot, part, PARTS) * reach) - 1);
    for (let ago = 1; ago < PARTS; ago++) count += this.countOf(slot, part, ago);
    return count;
  }

  private readonly clear = (slot: number): void => {
    for (let word = slot * COUNTS; word < (slot + 1) * COUNTS; word++) Atomics.store(this.counts, word, 0);
  };

  /** Parts since the key was last counted; 0 if it never was, because its first request is just being counted. */
  private idle(slot: number, part: number): number {
    let idle = PART_MASK + 1;
    for (let word = slot * COUNTS; word < (slot + 1) * COUNTS; word++) {
      const seen = Atomics.load(this.counts, word);
      if ((seen & COUNT_MASK) > 0) idle = Math.min(idle, (part - partOf(seen)) & PART_MASK);
    }
    return idle > PART_MASK ? 0 : idle;
  }

  private countOf(slot: number, part: number, ago: number): number {
    const then = part < ago ? part - ago + CYCLE : part - ago;
    const seen = Atomics.load(this.counts, wordOf(slot, then));
    return partOf(seen) === (then & PART_MASK) ? seen & COUNT_MASK : 0;
  }
}

const wordOf = (slot: number, part: number): number => slot * COUNTS + (part % COUNTS);
const partOf = (word: number): number => word >>> COUNT_BITS;
const pack = (part: number, count: number): number => ((part & PART_MASK) << COUNT_BITS) | count;
