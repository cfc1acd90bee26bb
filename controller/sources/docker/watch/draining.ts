import type { Clock } from '../../../../shared/runtime/clock.ts';

/**
 * A container still running this long after a stop signal is considered to have ignored it (ms), unless it may take longer: then it would
 * have been killed a while ago.
 */
export const DRAIN_TIMEOUT_MS = 60_000;
const AFTER_KILL_MS = 10_000;

/**
 * The containers that are draining: they were sent a stop signal and have not exited yet. The engine has no such state, only the event,
 * so it is remembered here.
 */
export type Draining = {
  /** A stop signal was sent to a container that may take this long to stop. */
  begin(id: string, stopTimeoutSecs?: number): void;
  /** It exited, restarted, or no longer exists. @returns whether it was draining. */
  end(id: string): boolean;
  ids(): ReadonlySet<string>;
  stop(): void;
};

/** `expired` is called when a container is restored. */
export function createDraining(clock: Clock, expired: (id: string) => void): Draining {
  const timers = new Map<string, () => void>();
  const end = (id: string) => {
    timers.get(id)?.();
    return timers.delete(id);
  };
  return {
    begin: (id, stopTimeoutSecs = 0) => {
      end(id);
      const takeBack = () => {
        timers.delete(id);
        expired(id);
      };
      timers.set(id, clock.after(Math.max(DRAIN_TIMEOUT_MS, stopTimeoutSecs * 1_000 + AFTER_KILL_MS), takeBack));
    },
    end,
    ids: () => new Set(timers.keys()),
    stop: () => {
      for (const id of [...timers.keys()]) end(id);
    },
  };
}
