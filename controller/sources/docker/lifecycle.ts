import type { Clock } from '../../../shared/runtime/clock.ts';

/** A container that was told to end and runs on this much later has changed its mind (ms). */
export const OUTLIVED_MS = 60_000;

/**
 * Who is on the way out: containers that were sent a signal to end and have not ended yet. The engine has
 * no such state, only the event; so it is remembered here.
 */
export type Lifecycle = {
  /** A signal to end was sent at `at` (ms, the engine's clock). The same event again, as after a reconnect, changes nothing. */
  stopping(id: string, at: number): void;
  /** It ended, or began anew. */
  over(id: string): void;
  /** It is no more. */
  forget(id: string): void;
  /** The containers that are on the way out. */
  draining(): ReadonlySet<string>;
  stop(): void;
};

/** `outlived` hears when a container is taken back. */
export function createLifecycle(clock: Clock, outlived: (id: string) => void): Lifecycle {
  const draining = new Map<string, () => void>();
  /** When each container was last told to end. */
  const told = new Map<string, number>();
  const over = (id: string) => {
    draining.get(id)?.();
    draining.delete(id);
  };
  return {
    stopping: (id, at) => {
      if (at <= (told.get(id) ?? Number.NEGATIVE_INFINITY)) return;
      told.set(id, at);
      over(id);
      const takeBack = () => {
        draining.delete(id);
        outlived(id);
      };
      draining.set(id, clock.after(OUTLIVED_MS, takeBack));
    },
    over,
    forget: (id) => {
      over(id);
      told.delete(id);
    },
    draining: () => new Set(draining.keys()),
    stop: () => {
      for (const id of [...draining.keys()]) over(id);
    },
  };
}
