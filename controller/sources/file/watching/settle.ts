import type { Clock } from '../../../../shared/runtime/clock.ts';

/** Saving a file causes several events: wait until there was none for this long … */
export const QUIET_MS = 50;
/** … but at most this long after the first (both in ms). */
export const MAX_MS = 200;

export type Settle = {
  /** Something happened: run soon. */
  poke(): void;
  now(): void;
  stop(): void;
};

/** Runs `task` once per burst of pokes, one run at a time; pokes during a run cause another. */
export function createSettle(clock: Clock, task: () => Promise<void>): Settle {
  let cancel: () => void = () => undefined;
  let firstPoke: number | undefined;
  let running = false;
  let stopped = false;

  const poke = () => {
    if (stopped) return;
    const now = clock.monotonic();
    firstPoke ??= now;
    cancel();
    cancel = clock.after(Math.max(0, Math.min(QUIET_MS, firstPoke + MAX_MS - now)), run);
  };
  const run = () => {
    if (running) return poke();
    firstPoke = undefined;
    running = true;
    void task().finally(() => {
      running = false;
    });
  };
  const stop = () => {
    stopped = true;
    cancel();
  };
  return { poke, now: run, stop };
}
