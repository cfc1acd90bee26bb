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
  /** A stop signal was sent. */
  begin(id: string): void;
  /** It exited, restarted, or no longer exists. @returns whether it was draining. */
  end(id: string): boolean;
  ids(): ReadonlySet<string>;
  stop(): void;
};

/**
 * `expired` is called when a container is restored. `stopTimeoutOf`: how long it may take to stop (s). That may become known only later: after
 * a start, signals are repeated before containers are listed.
 */
export function createDraining(clock: Clock, expired: (id: string) => void, stopTimeoutOf: (id: string) => number): Draining {
  const timers = new Map<string, () => void>();
  const end = (id: string) => {
    timers.get(id)?.();
    return timers.delete(id);
  };
  return {
    begin: (id) => {
      end(id);
      const takeBack = () => {
        timers.delete(id);
        expired(id);
      };
      const afterMinute = () => {
        const left = stopTimeoutOf(id) * 1_000 + AFTER_KILL_MS - DRAIN_TIMEOUT_MS;
        if (left > 0) timers.set(id, clock.after(left, takeBack));
        else takeBack();
      };
      timers.set(id, clock.after(DRAIN_TIMEOUT_MS, afterMinute));
    },
    end,
    ids: () => new Set(timers.keys()),
    stop: () => {
      for (const id of [...timers.keys()]) end(id);
    },
  };
}
