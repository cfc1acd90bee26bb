/**
 * A count over a sliding window of `ticks` slots of `tickMs` each, including the current one. It advances with
 * the clock, so an idle count falls to 0 on its own.
 */
export class SlidingCount {
  private readonly slots: Float64Array;
  private readonly tickMs: number;
  private last = 0;
  private sum = 0;

  constructor(ticks: number, tickMs: number) {
    this.slots = new Float64Array(ticks);
    this.tickMs = tickMs;
  }

  /** `now` is in ms of a monotonic clock. */
  add(count: number, now: number): void {
    const slot = this.advance(now) % this.slots.length;
    this.slots[slot] = (this.slots[slot] ?? 0) + count;
    this.sum += count;
  }

  total(now: number): number {
    this.advance(now);
    return this.sum;
  }

  /** The count of the last `ticks` slots, including the current one. */
  recent(ticks: number, now: number): number {
    const tick = this.advance(now);
    let sum = 0;
    for (let back = 0; back < Math.min(ticks, this.slots.length, tick + 1); back++)
      sum += this.slots[(tick - back) % this.slots.length] ?? 0;
    return sum;
  }

  /** Adds another count with the same window and clock. */
  merge(other: SlidingCount, now: number): void {
    this.advance(now);
    other.advance(now);
    for (const [slot, count] of other.slots.entries()) this.slots[slot] = (this.slots[slot] ?? 0) + count;
    this.sum += other.sum;
  }

  /** Clears the slots that have left the window. @returns the current tick. */
  private advance(now: number): number {
    const tick = Math.max(this.last, Math.floor(now / this.tickMs));
    const passed = Math.min(tick - this.last, this.slots.length);
    for (let step = 0; step < passed; step++) {
      const slot = (tick - step) % this.slots.length;
      this.sum -= this.slots[slot] ?? 0;
      this.slots[slot] = 0;
    }
    this.last = tick;
    return tick;
  }
}
