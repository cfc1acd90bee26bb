import type { Progress } from '../exchange/attempt.ts';
import type { Exchange } from '../exchange/exchange.ts';

/** RFC 9110 9.2.2. */
const IDEMPOTENT = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE']);

/** On how many other targets a request is tried after its first one has failed, if the route does not say. */
export const USUAL_RETRIES = 2;

/**
 * Whether a failed request may be sent again: never after a byte of the response, never if its body has been
 * partly sent; otherwise if nothing was written, or if the method is idempotent.
 */
export function mayRetry(x: Exchange, progress: Progress): boolean {
  if (progress.answered || x.bodyConsumed) return false;
  return !progress.written || IDEMPOTENT.has(x.upstreamMethod);
}
