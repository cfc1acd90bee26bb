/** Half of the observed period (ms). */
const HALF_MS = 5_000;
/** Retries that are allowed in addition to the share, so that a pool that is new or has few requests can lose a target. */
const FREE_RETRIES = 1_000;

/** The default share of requests that may be sent to another target after one had received them (percent). */
export const USUAL_BUDGET = 20;

/**
 * Limits retries to a share of the requests of the last five to ten seconds: when all targets fail, retries would multiply the load that
 * makes them fail. Counts what one worker sees.
 */
export class RetryBudget {
  private readonly share: number;
  private began = Number.NEGATIVE_INFINITY;
  private requests = 0;
  private retries = 0;
  private earlierRequests = 0;
  private earlierRetries = 0;

  /** `percent`: the share of requests that may be retried. */
  constructor(percent: number) {
    this.share = percent / 100;
  }

  /** Counts a request that arrived at `now` (ms on the monotonic clock). */
  request(now: number): void {
    if (now - this.began >= HALF_MS) this.turn(now);
    this.requests++;
  }

  /** Counts a retry, if it is within the budget. */
  spend(): boolean {
    const allowed = FREE_RETRIES + this.share * (this.requests + this.earlierRequests);
    if (this.share === 0 || this.retries + this.earlierRetries >= allowed) return false;
    this.retries++;
    return true;
  }

  private turn(now: number): void {
    const recent = now - this.began < 2 * HALF_MS;
    this.earlierRequests = recent ? this.requests : 0;
    this.earlierRetries = recent ? this.retries : 0;
    this.requests = 0;
    this.retries = 0;
    this.began = now;
  }
}
