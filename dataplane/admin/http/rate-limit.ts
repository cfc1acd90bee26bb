import type { Clock } from '../../../shared/runtime/clock.ts';

/** Maximum number of requests to the published endpoints and to unknown paths in any 60 seconds. */
export const PUBLISHED_LIMIT = 60;
/** Maximum number of requests to the extension endpoints in any 60 seconds. */
export const EXTENSION_LIMIT = 600;
const WINDOW_MS = 60_000;

/** One limit for all clients of the Admin API together: at most `limit` requests in any 60 seconds. */
export class RateLimit {
  private readonly clock: Clock;
  private readonly limit: number;
  /** The times at which the last requests were admitted, oldest first. */
  private readonly admitted: number[] = [];

  constructor(clock: Clock, limit: number) {
    this.clock = clock;
    this.limit = limit;
  }

  /** Admits one request. @returns 0, or the whole seconds until the next one will be admitted. */
  admit(): number {
    const now = this.clock.monotonic();
    while (this.admitted.length > 0 && now - (this.admitted[0] as number) >= WINDOW_MS) this.admitted.shift();
    if (this.admitted.length >= this.limit) return Math.max(1, Math.ceil(((this.admitted[0] as number) + WINDOW_MS - now) / 1_000));
    this.admitted.push(now);
    return 0;
  }
}
