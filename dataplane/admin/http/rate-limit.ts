import type { Clock } from '../../../shared/runtime/clock.ts';

/** Maximum number of requests to the published endpoints and to unknown paths in any 60 seconds. */
export const PUBLISHED_LIMIT = 60;
/** Maximum number of requests to the extension endpoints in any 60 seconds. */
export const EXTENSION_LIMIT = 600;
const WINDOW_MS = 60_000;

/**
 * One limit for all clients of the Admin API together: at most `limit` requests in any 60 seconds.
 * @returns a function that admits one request and returns 0, or the whole seconds until the next one will be admitted.
 */
export function createRateLimit(clock: Clock, limit: number): () => number {
  /** The times at which the last requests were admitted, oldest first. */
  const admitted: number[] = [];
  return () => {
    const now = clock.monotonic();
    while (admitted.length > 0 && now - (admitted[0] as number) >= WINDOW_MS) admitted.shift();
    if (admitted.length >= limit) return Math.max(1, Math.ceil(((admitted[0] as number) + WINDOW_MS - now) / 1_000));
    admitted.push(now);
    return 0;
  };
}
