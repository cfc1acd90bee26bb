/** Half of the observed period (ms). */
const HALF_MS = 5_000;

/** How many of the requests of the last five to ten seconds failed. */
export class ErrorRate {
  private began = Number.NEGATIVE_INFINITY;
  private requests = 0;
  private errors = 0;
  private earlierRequests = 0;
  private earlierErrors = 0;

  /** Counts a request that has ended at `now` (ms, of one clock). */
  add(now: number, failed: boolean): void {
    if (now - this.began >= HALF_MS) {
      const recent = now - this.began < 2 * HALF_MS;
      this.earlierRequests = recent ? this.requests : 0;
      this.earlierErrors = recent ? this.errors : 0;
      this.requests = 0;
      this.errors = 0;
      this.began = now;
    }
    this.requests++;
    if (failed) this.errors++;
  }

  /** Whether at least `minRequests` requests were seen and this share of them (0 to 1) failed. */
  exceeds(share: number, minRequests: number): boolean {
    const requests = this.requests + this.earlierRequests;
    return requests >= minRequests && this.errors + this.earlierErrors >= share * requests;
  }

  /** Starts over, after the rate has been acted upon. */
  clear(): void {
    this.began = Number.NEGATIVE_INFINITY;
    this.requests = this.errors = this.earlierRequests = this.earlierErrors = 0;
  }
}
