import type { Clock } from '../clock.ts';

/** A clock that only moves when a test moves it. */
export class ManualClock implements Clock {
  private time = 1_700_000_000_000;
  private timers: { at: number; every: number | null; task: () => void }[] = [];

  now(): number {
    return this.time;
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

  /** Moves time and runs the tasks that fall due, in order. */
  pass(ms: number): void {
    const end = this.time + ms;
    for (;;) {
      const next = this.timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.time = next.at;
      if (next.every === null) this.timers = this.timers.filter((timer) => timer !== next);
      else next.at += next.every;
      next.task();
    }
    this.time = end;
  }

  private add(ms: number, every: number | null, task: () => void): () => void {
    const timer = { at: this.time + ms, every, task };
    this.timers.push(timer);
    return () => {
      this.timers = this.timers.filter((one) => one !== timer);
    };
  }
}
