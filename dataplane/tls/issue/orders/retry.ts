import type { IssueFailureKind } from '../issue-error.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * How long after the first failure, the second and so on. Public authorities allow five failed checks of a name an
 * hour, so the fifth comes later than that. One that can't be reached is asked often: asking costs nobody anything.
 */
const STEPS: Readonly<Record<IssueFailureKind, readonly number[]>> = {
  unreachable: [2 * SECOND, 4 * SECOND, 6 * SECOND],
  validation: [MINUTE, 5 * MINUTE, 20 * MINUTE, HOUR, 3 * HOUR, 12 * HOUR, 24 * HOUR],
  records: [MINUTE, 5 * MINUTE, 20 * MINUTE, HOUR],
  limited: [HOUR, 3 * HOUR, 12 * HOUR],
  refused: [10 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR],
  local: [30 * SECOND, MINUTE, 5 * MINUTE],
};

/** An authority that has a limit knows when it is over; one that is not in order can only guess. */
const MOST_ASKED: Readonly<Record<IssueFailureKind, number>> = {
  unreachable: HOUR,
  validation: 24 * HOUR,
  records: 24 * HOUR,
  limited: 24 * HOUR,
  refused: 24 * HOUR,
  local: HOUR,
};

/**
 * Milliseconds to wait after the `failures`-th failure in a row (from 1), up to a fifth longer by `fraction` (0 to 1).
 * `retryAfterMs` is how long the authority asks to wait; null where it does not say.
 */
export function retryDelay(kind: IssueFailureKind, failures: number, retryAfterMs: number | null, fraction: number): number {
  const steps = STEPS[kind];
  const step = kind === 'limited' && retryAfterMs !== null ? MINUTE : (steps[Math.min(failures, steps.length) - 1] ?? MINUTE);
  return Math.round(Math.max(step, Math.min(retryAfterMs ?? 0, MOST_ASKED[kind])) * (1 + fraction / 5));
}

/** The same for a renewal: within a third of what is left of the old certificate (ms), but no sooner than after a minute. One that is over hurries nobody. */
export function withinLifetime(delayMs: number, leftMs: number): number {
  return leftMs <= 0 ? delayMs : Math.round(Math.min(delayMs, Math.max(MINUTE, leftMs / 3)));
}
