/** How long an idle connection is reused (ms): most upstreams close theirs after 5 s. */
export const IDLE_MS = 4_000;
/** A connection closed sooner than this (ms) was not closed for being idle: its target is shutting down or being replaced. */
const MIN_LIMIT_MS = 500;
/** How much sooner than the target's limit a connection is given up: a quarter of the limit, and at least this (ms). */
const MIN_MARGIN_MS = 250;

/**
 * How long connections to one target may be idle. A target whose own limit is short shows it by
 * closing one; from then on its connections are given up sooner than that. It may have closed for another reason, so one connection
 * is kept unused for the usual time to find out.
 */
export class IdleLimit {
  /** After how long the target has closed an idle connection (ms). */
  private learnt = Number.POSITIVE_INFINITY;

  /** Whether the target has closed before we did. */
  get known(): boolean {
    return this.learnt !== Number.POSITIVE_INFINITY;
  }

  /**
   * How long a connection that is free now may be reused (ms; not at all if not positive). `announced` is its Keep-Alive in s; -1 without.
   */
  keepFor(announced: number): number {
    const announcedMs = announced < 0 ? IDLE_MS : announced * 1_000 - 1_000;
    const own = this.learnt - Math.max(MIN_MARGIN_MS, this.learnt / 4);
    return Math.min(IDLE_MS, announcedMs, this.known ? own : IDLE_MS);
  }

  /** The target has closed a connection that was idle for `ms`. */
  closedAfter(ms: number): void {
    if (ms >= MIN_LIMIT_MS) this.learnt = ms;
  }

  /** A connection has stayed open for as long as we would reuse it without a limit. */
  limitNotReached(): void {
    this.learnt = Number.POSITIVE_INFINITY;
  }
}
