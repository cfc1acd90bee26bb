import type { Clock } from '../clock.ts';

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #now = 1_700_000_000_000;
  #timers: { at: number; every: number | null; task: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - 1_700_000_000_000;
  }

  after(ms: number, task: () => void): () => void {
    return this.#add(ms, null, task);
  }

  every(ms: number, task: () => void): () => void {
    return this.#add(ms, ms, task);
  }

  /** Moves time, running what falls due in its order. */
  pass(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#now = next.at;
      if (next.every === null) this.#timers = this.#timers.filter((timer) => timer !== next);
      else next.at += next.every;
      next.task();
    }
    this.#now = end;
  }

  #add(ms: number, every: number | null, task: () => void): () => void {
    const timer = { at: this.#now + ms, every, task };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }
}
