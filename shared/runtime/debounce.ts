import type { Clock } from './clock.ts';

export type DebounceTimes = {
  /** There was no trigger for this long (ms) … */
  readonly quietMs: number;
  /** … or this long has passed since the first (ms). */
  readonly maxMs: number;
};

export type Debounce = {
  /** Something changed: run soon. */
  trigger(): void;
  /** Runs now, including pending changes. */
  flush(): void;
  /** For good: it is not run any more. */
  stop(): void;
};

/** Runs `task` once per burst of triggers. */
export function createDebounce(clock: Clock, { quietMs, maxMs }: DebounceTimes, task: () => void): Debounce {
  let firstTrigger: number | undefined;
  let cancel: () => void = () => undefined;
  let isStopped = false;
  const flush = () => {
    cancel();
    firstTrigger = undefined;
    if (!isStopped) task();
  };
  return {
    trigger: () => {
      if (isStopped) return;
      const now = clock.monotonic();
      firstTrigger ??= now;
      cancel();
      cancel = clock.after(Math.max(0, Math.min(quietMs, firstTrigger + maxMs - now)), flush);
    },
    flush,
    stop: () => {
      isStopped = true;
      cancel();
    },
  };
}
