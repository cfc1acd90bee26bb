import type { Clock } from '../clock.ts';

type Timer = { at: number; readonly every: number | null; readonly task: () => void };

/** A clock that only moves when a test moves it. */
export class ManualClock implements Clock {
  private time = 1_700_000_000_000;
  private ahead = 0;
  private timers: Timer[] = [];

  now(): number {
    return this.time + this.ahead;
  }

  monotonic(): number {
    return this.time - 1_700_000_000_000;
  }

  after(ms: number, task: () => void): () => void {
    return this.add(ms, null, task);
  }

  every(ms: number, task: () => void): () => void {
    return this.add(ms, ms, task);
  }

  /** Sets the time of day; timers and the monotonic clock stay as they are. */
  jump(ms: number): void {
    this.ahead += ms;
  }

  /** Moves time and runs the tasks that fall due, in order. */
  pass(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const next = this.nextUntil(end);
      if (next === null) break;
      this.time = next.at;
      if (next.every === null) this.timers = this.timers.filter((timer) => timer !== next);
      else next.at += next.every;
      next.task();
    }
    this.time = end;
  }

  /** The timer that is due first, and was set first of those due at the same time. Tests that move it by a month call this a million times. */
  private nextUntil(end: number): Timer | null {
    let next: Timer | null = null;
    for (const timer of this.timers) if (timer.at <= end && (next === null || timer.at < next.at)) next = timer;
    return next;
  }

  private add(ms: number, every: number | null, task: () => void): () => void {
    const timer: Timer = { at: this.time + ms, every, task };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((one) => one !== timer);
    };
  }
}
