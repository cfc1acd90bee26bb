import type { Clock } from '../../shared/runtime/clock.ts';

/** Changes come in bursts: wait until there was none for this long … */
export const QUIET_MS = 100;
/** … but at most this long after the first. */
export const MAX_MS = 500;

export type HoldOff = {
  /** Something changed: run soon. */
  trigger(): void;
  /** Run now, including pending changes. */
  flush(): void;
  stop(): void;
};

/** Runs `task` once per burst of changes. */
export function createHoldOff(clock: Clock, task: () => void): HoldOff {
  let firstTrigger: number | undefined;
  let cancel: () => void = () => undefined;
  const stop = () => {
    cancel();
    firstTrigger = undefined;
  };
  const flush = () => {
    stop();
    task();
  };
  return {
    trigger: () => {
      const now = clock.monotonic();
      firstTrigger ??= now;
      cancel();
      cancel = clock.after(Math.max(0, Math.min(QUIET_MS, firstTrigger + MAX_MS - now)), flush);
    },
    flush,
    stop,
  };
}
