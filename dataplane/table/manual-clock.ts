import type { Clock } from '../../shared/runtime/clock.ts';

type Timer = { at: number; readonly every: number | null; readonly task: () => void };

/** A clock that stands still until a test moves it. It starts at a wall time that is easy to recognise. */
export class ManualClock implements Clock {
  static readonly START = 1_800_000_000_000;
  private passed = 0;
  private readonly timers = new Set<Timer>();

  now(): number {
    return ManualClock.START + this.passed;
  }

  monotonic(): number {
    return this.passed;
  }

  after(ms: number, task: () => void): () => void {
    return this.add({ at: this.passed + ms, every: null, task });
  }

  every(ms: number, task: () => void): () => void {
    return this.add({ at: this.passed + ms, every: ms, task });
  }

  /** How many timers are set: what has ended leaves none behind. */
  get pending(): number {
    return this.timers.size;
  }

  /** Moves time by `ms`, running what falls due in its order. */
  pass(ms: number): void {
    const end = this.passed + ms;
    for (let due = this.dueBy(end); due !== undefined; due = this.dueBy(end)) {
      this.passed = due.at;
      if (due.every === null) this.timers.delete(due);
      else due.at += due.every;
      due.task();
    }
    this.passed = end;
  }

  private dueBy(end: number): Timer | undefined {
    return [...this.timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
  }

  private add(timer: Timer): () => void {
    this.timers.add(timer);
    return () => this.timers.delete(timer);
  }
}
