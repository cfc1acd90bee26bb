import type { IssueFailureKind } from '../issue-error.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Backoff after the first failure, the second and so on. Public authorities allow five failed validations per name and
 * hour, so the fifth attempt comes later than that. An unreachable authority is retried often, since that costs nothing.
 */
const STEPS: Readonly<Record<IssueFailureKind, readonly number[]>> = {
  unreachable: [2 * SECOND, 4 * SECOND, 6 * SECOND],
  validation: [MINUTE, 5 * MINUTE, 20 * MINUTE, HOUR, 3 * HOUR, 12 * HOUR, 24 * HOUR],
  records: [MINUTE, 5 * MINUTE, 20 * MINUTE, HOUR],
  limited: [HOUR, 3 * HOUR, 12 * HOUR],
  refused: [10 * MINUTE, HOUR, 6 * HOUR, 24 * HOUR],
  local: [30 * SECOND, MINUTE, 5 * MINUTE],
};

/** The longest Retry-After that is honored: an authority knows when a rate limit ends, but can only guess when an outage does. */
const MAX_ASKED: Readonly<Record<IssueFailureKind, number>> = {
  unreachable: HOUR,
  validation: 24 * HOUR,
  records: 24 * HOUR,
  limited: 24 * HOUR,
  refused: 24 * HOUR,
  local: HOUR,
};

/** With the jitter. */
export const LONGEST_DELAY_MS = 24 * HOUR * 1.2;

/**
 * Milliseconds to wait after the `failures`-th consecutive failure (from 1), plus a jitter of up to a fifth by `fraction`
 * (0 to 1). `retryAfterMs` is from the authority's Retry-After; null without one.
 */
export function retryDelay(kind: IssueFailureKind, failures: number, retryAfterMs: number | null, fraction: number): number {
  const steps = STEPS[kind];
  const step = kind === 'limited' && retryAfterMs !== null ? MINUTE : (steps[Math.min(failures, steps.length) - 1] ?? MINUTE);
  return Math.round(Math.max(step, Math.min(retryAfterMs ?? 0, MAX_ASKED[kind])) * (1 + fraction / 5));
}

/**
 * Shortens a retry delay for a renewal to a third of the remaining lifetime (ms), but to no less than a minute. Expired certificates keep
 * the full delay.
 */
export function withinLifetime(delayMs: number, leftMs: number): number {
  return leftMs <= 0 ? delayMs : Math.round(Math.min(delayMs, Math.max(MINUTE, leftMs / 3)));
}
