import type { Clock } from '../../../../shared/runtime/clock.ts';

/** Saving a file causes several events: wait until there was none for this long … */
export const QUIET_MS = 50;
/** … but at most this long after the first (both in ms). */
export const MAX_MS = 200;

export type Debounce = {
  /** Something happened: run soon. */
  trigger(): void;
  now(): void;
  stop(): void;
};

/** Runs `task` once per burst of triggers, one run at a time; a trigger during a run causes another. */
export function createDebounce(clock: Clock, task: () => Promise<void>): Debounce {
  let cancel: () => void = () => undefined;
  let firstTrigger: number | undefined;
  let running = false;
  let stopped = false;

  const trigger = () => {
    if (stopped) return;
    const now = clock.monotonic();
    firstTrigger ??= now;
    cancel();
    cancel = clock.after(Math.max(0, Math.min(QUIET_MS, firstTrigger + MAX_MS - now)), run);
  };
  const run = () => {
    if (running) return trigger();
    firstTrigger = undefined;
    running = true;
    void task().finally(() => {
      running = false;
    });
  };
  const stop = () => {
    stopped = true;
    cancel();
  };
  return { trigger, now: run, stop };
}
