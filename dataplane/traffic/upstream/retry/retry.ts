import type { PoolOptions } from '../../../../shared/upstreams/pool-options.ts';
import type { Progress } from '../../exchange/attempt.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { FAILURE, type Failure } from '../../exchange/failure.ts';
import { USUAL_BUDGET } from './retry-budget.ts';

/** RFC 9110 9.2.2. */
export const IDEMPOTENT = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE']);

/** On how many other targets a request is tried by default after the first one has failed. */
const USUAL_RETRIES = 2;

/** How many targets of one request may refuse the connection without counting as retries. */
const FREE_REFUSALS = 16;

/**
 * How often a request is sent again to a target that closed the connection, without counting as a retry. A request that makes its target
 * close must not be repeated as long as others are answered in between; the limit is higher if the target has certainly not processed it.
 */
const MAX_RESENT = { processed: 1, unprocessed: 8 };

/** Failures that cost next to nothing and occur at once. */
export const REFUSALS: ReadonlySet<Failure> = new Set([FAILURE.refused, FAILURE.noSocket]);

/** When a request is tried on another target. */
export type RetryRules = {
  /** The maximum number of other targets that a request is tried on. */
  readonly maxRetries: number;
  /** After which statuses; null after none. */
  readonly statuses: ReadonlySet<number> | null;
  /** The share of requests that may be sent to another target after one had received them, in percent. */
  readonly budgetPercent: number;
};

export const retryRulesOf = ({
  lb_retries: maxRetries,
  lb_retry_statuses: statuses,
  lb_retry_budget: percent,
}: PoolOptions): RetryRules => ({
  maxRetries: maxRetries ?? USUAL_RETRIES,
  statuses: statuses == null ? null : new Set(statuses),
  budgetPercent: percent ?? USUAL_BUDGET,
});

/**
 * Whether the number of retries allows another target after `tried` targets, of which `refusals` refused the connection. When an app is
 * scaled down, most of its targets may refuse at the same time.
 */
export const isWithin = ({ maxRetries }: RetryRules, tried: number, refusals: number): boolean =>
  maxRetries > 0 && tried - Math.min(refusals, FREE_REFUSALS) <= maxRetries;

/**
 * Whether a failed request may be sent again: never after a byte of the response, never if its body has been
 * partly sent; otherwise if nothing was written, or if the method is idempotent.
 */
export function mayRetry(x: Exchange, progress: Progress): boolean {
  if (progress.answered || x.bodyConsumed) return false;
  return !progress.written || IDEMPOTENT.has(x.upstreamMethod);
}

/**
 * Whether a failure says no more than that the connection was closed meanwhile, or has no room for the request, so that it is sent on a
 * fresh one.
 */
export const isStale = (x: Exchange, failure: Failure, { reused, answered, written }: Progress): boolean => {
  if (answered || x.resent >= (written ? MAX_RESENT.processed : MAX_RESENT.unprocessed)) return false;
  return (reused && failure === FAILURE.closed) || (written && failure === FAILURE.turnedAway);
};
