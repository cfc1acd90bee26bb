import type { Clock } from '../../../../shared/runtime/clock.ts';

/** A container that was told to end and runs on this much later has changed its mind (ms). */
export const DRAIN_TIMEOUT_MS = 60_000;

/**
 * Which containers drain: they were sent a signal to end and have not ended yet. The engine has
 * no such state, only the event; so it is remembered here.
 */
export type Draining = {
  /** A signal to end was sent. */
  begin(id: string): void;
  /** It ended, began anew, or is no more. @returns whether it was draining. */
  end(id: string): boolean;
  ids(): ReadonlySet<string>;
  stop(): void;
};

/** `expired` hears when a container is taken back. */
export function createDraining(clock: Clock, expired: (id: string) => void): Draining {
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
      timers.set(id, clock.after(DRAIN_TIMEOUT_MS, takeBack));
    },
    end,
    ids: () => new Set(timers.keys()),
    stop: () => {
      for (const id of [...timers.keys()]) end(id);
    },
  };
}
