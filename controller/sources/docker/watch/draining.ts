import type { Clock } from '../../../../shared/runtime/clock.ts';

/** A container that was told to end and runs on this much later has changed its mind (ms). */
export const OUTLIVED_MS = 60_000;

/**
 * Who is on the way out: containers that were sent a signal to end and have not ended yet. The engine has
 * no such state, only the event; so it is remembered here.
 */
export type Lifecycle = {
  /** A signal to end was sent. */
  stopping(id: string): void;
  /** It ended, began anew, or is no more. @returns whether it was on the way out. */
  over(id: string): boolean;
  /** The containers that are on the way out. */
  draining(): ReadonlySet<string>;
  stop(): void;
};

/** `outlived` hears when a container is taken back. */
export function createLifecycle(clock: Clock, outlived: (id: string) => void): Lifecycle {
  const draining = new Map<string, () => void>();
  const over = (id: string) => {
    draining.get(id)?.();
    return draining.delete(id);
  };
  return {
    stopping: (id) => {
      over(id);
      const takeBack = () => {
        draining.delete(id);
        outlived(id);
      };
      draining.set(id, clock.after(OUTLIVED_MS, takeBack));
    },
    over,
    draining: () => new Set(draining.keys()),
    stop: () => {
      for (const id of [...draining.keys()]) over(id);
    },
  };
}
