import type { Log } from '../../../shared/runtime/log/log.ts';
import type { RefusedHead } from '../client/client-tools.ts';

/** The minimum time between two lines (ms). */
const SILENCE_MS = 60_000;
/** The statuses for a request target or head that is too large. */
const TOO_LARGE: ReadonlySet<number> = new Set([414, 431]);

/**
 * Logs heads refused for their size, which may well be valid: a browser with many cookies can't open
 * the site, and its owner sees no request. At most one line a minute, with the count since the last.
 */
export class RefusedHeads {
  private readonly log: Log;
  private silentUntil = Number.NEGATIVE_INFINITY;
  private suppressed = 0;

  constructor(log: Log) {
    this.log = log;
  }

  /** `now` in milliseconds on the monotonic clock. */
  note({ status, reason, address }: RefusedHead, now: number): void {
    if (!TOO_LARGE.has(status)) return;
    this.suppressed++;
    if (now < this.silentUntil) return;
    this.silentUntil = now + SILENCE_MS;
    this.log.warn({ address, status, reason, count: this.suppressed }, 'requests are refused: their heads are larger than allowed');
    this.suppressed = 0;
  }
}
