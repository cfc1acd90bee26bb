import type { Clock } from '../../../shared/runtime/clock.ts';

/** Maximum number of requests to the published endpoints and to unknown paths in any 60 seconds. */
export const PUBLISHED_LIMIT = 60;
/** Maximum number of requests to the extension endpoints in any 60 seconds. */
export const EXTENSION_LIMIT = 600;
/** The part of a limit that requests with the view token may use: the rest is left for clients that may change something, such as controllers. */
const VIEWERS_SHARE = 0.75;
const WINDOW_MS = 60_000;

/** Admits one request. @returns 0, or the whole seconds until the next one will be admitted. */
export type RateLimit = (viewing: boolean) => number;

/** One limit for all clients of the Admin API together: at most `limit` requests in any 60 seconds, three quarters of them with the view token. */
export function createRateLimit(clock: Clock, limit: number): RateLimit {
  /** The times at which the last requests were admitted, oldest first: all, and those with the view token. */
  const admitted: number[] = [];
  const viewed: number[] = [];
  return (viewing) => {
    const now = clock.monotonic();
    for (const times of [admitted, viewed]) while (times.length > 0 && now - (times[0] as number) >= WINDOW_MS) times.shift();
    const full = admitted.length >= limit ? admitted : viewing && viewed.length >= limit * VIEWERS_SHARE ? viewed : null;
    if (full !== null) return Math.max(1, Math.ceil(((full[0] as number) + WINDOW_MS - now) / 1_000));
    admitted.push(now);
    if (viewing) viewed.push(now);
    return 0;
  };
}
