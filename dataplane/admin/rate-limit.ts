import type { Clock } from '../../shared/runtime/clock.ts';

export const LIMIT = 60;
export const WINDOW_MS = 60_000;

/** One counter for all clients of the Admin API: at most 60 requests in any 60 seconds. */
export class RateLimit {
  private readonly clock: Clock;
  /** When each of the last requests was admitted, oldest first. */
  private readonly admitted: number[] = [];

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** Admits one request. @returns 0, or the whole seconds until the next one will be admitted. */
  admit(): number {
    const now = this.clock.monotonic();
    while (this.admitted.length > 0 && now - (this.admitted[0] as number) >= WINDOW_MS) this.admitted.shift();
    if (this.admitted.length >= LIMIT) return Math.max(1, Math.ceil(((this.admitted[0] as number) + WINDOW_MS - now) / 1_000));
    this.admitted.push(now);
    return 0;
  }
}
