import type { Clock } from '../../shared/runtime/clock.ts';

/** Waits for conditions that are checked again whenever something may have changed. */
export class Conditions {
  private readonly clock: Clock;
  private readonly waiting = new Set<() => void>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Waits for a condition. @returns whether it was met within `withinMs`. */
  until(met: () => boolean, withinMs: number): Promise<boolean> {
    if (met()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const settle = (result: boolean) => {
        this.waiting.delete(look);
        cancel();
        resolve(result);
      };
      const look = () => {
        if (met()) settle(true);
      };
      const cancel = this.clock.after(withinMs, () => settle(met()));
      this.waiting.add(look);
    });
  }

  /** Checks all of them. */
  recheck(): void {
    for (const look of [...this.waiting]) look();
  }
}
