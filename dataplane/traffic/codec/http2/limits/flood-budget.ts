/** What a peer may cost at once, and what it regains each second. One unit is about a microsecond of our time. */
const CAPACITY = 10_000;
const PER_SECOND = 2_000;

/**
 * The cost of frames that make no progress. A body, or a response that was read, earns some of it back, so that a busy client may send more
 * of them.
 */
export const COST = {
  /** A frame that is read and ignored. */
  ignored: 2,
  /** A frame whose reply has to be sent. */
  answered: 5,
  /** A frame without content, such as a DATA frame without data. */
  empty: 5,
  /** A CONTINUATION frame. */
  fragment: 5,
  windowUpdate: 1,
  /** A PRIORITY_UPDATE frame, whose value has to be read. */
  prioritized: 5,
  /** A stream that is reset, by either side (CVE-2023-44487, CVE-2025-8671). */
  reset: 40,
} as const;

/** A DATA frame from the peer with fewer bytes than this earns nothing. */
export const MIN_USEFUL = 64;

export const EARNED = {
  /** A DATA frame from the peer that carries data. */
  data: 3,
  /** One that we send. To measure the connection, gRPC answers each round trip of them with two window updates and a PING. */
  sent: 8,
  /** A stream that ends properly. For a server any: what it sends before it learns of a reset is not its fault, and we open the streams. */
  stream: 40,
} as const;

/** Limits the work that a peer can cause without making progress, with frames of any type. */
export class FloodBudget {
  private left = CAPACITY;
  private refilledAt = Number.NaN;

  /** @returns false when the budget is spent. */
  spend(units: number): boolean {
    this.left -= units;
    return this.left >= 0;
  }

  earn(units: number): void {
    if (this.left < CAPACITY) this.left += units;
  }

  /** Called periodically, with ms on the monotonic clock. */
  refill(now: number): void {
    if (now > this.refilledAt) this.left = Math.min(CAPACITY, this.left + ((now - this.refilledAt) / 1_000) * PER_SECOND);
    this.refilledAt = now;
  }
}
