import type { Log } from '../../../shared/runtime/log.ts';
import type { RefusedHead } from '../client/client-tools.ts';

/** How long the log stays silent about further ones (ms). */
const SILENCE_MS = 60_000;
/** A target or a head that is too large. */
const TOO_LARGE: ReadonlySet<number> = new Set([414, 431]);

/**
 * Tells of heads that a limit of ours has refused, which may well be sound ones: a browser with many cookies can't open
 * the site, and its owner sees no request. At most one line a minute, with how many there were since the last.
 */
export class RefusedHeads {
  private readonly log: Log;
  private silentUntil = Number.NEGATIVE_INFINITY;
  private untold = 0;

  constructor(log: Log) {
    this.log = log;
  }

  /** `now` in milliseconds on the monotonic clock. */
  saw({ status, reason, address }: RefusedHead, now: number): void {
    if (!TOO_LARGE.has(status)) return;
    this.untold++;
    if (now < this.silentUntil) return;
    this.silentUntil = now + SILENCE_MS;
    this.log.warn({ address, status, reason, count: this.untold }, 'requests are refused: their heads are larger than allowed');
    this.untold = 0;
  }
}
