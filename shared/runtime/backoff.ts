import type { Random } from './random.ts';

export type Backoff = {
  /** How long to wait before the next attempt, in milliseconds. Each call waits longer. */
  next(): number;
  /** Resets the delay after a success. */
  reset(): void;
};

/** Doubles from `least` to `most` milliseconds, with a random reduction by up to half so that clients do not retry in step. */
export function createBackoff(random: Pick<Random, 'fraction'>, least = 100, most = 5_000): Backoff {
  let wait = least;
  return {
    next: () => {
      const full = wait;
      wait = Math.min(most, wait * 2);
      return Math.round(full * (1 - random.fraction() / 2));
    },
    reset: () => {
      wait = least;
    },
  };
}
