/** An idle connection is used for this long (ms): most upstreams close theirs after 5 s. */
export const IDLE_MS = 4_000;
/** Sooner than this (ms) nobody closes for idleness: a target that does so ends, or is replaced. */
const LEAST_LIMIT_MS = 500;
/** How much sooner than its target a connection is given up: a quarter of the limit, and this at least (ms). */
const LEAST_MARGIN_MS = 250;

/**
 * How long connections to one target may wait for their next request. A target whose own limit is short says so by
 * closing: from then on its connections are given up before that. It may have closed for another reason, so one of them
 * is kept unused for as long as usual, and tells.
 */
export class IdleLimit {
  /** After how long the target has closed an idle connection (ms). */
  private learnt = Number.POSITIVE_INFINITY;

  /** Whether the target has closed before we did. */
  get known(): boolean {
    return this.learnt !== Number.POSITIVE_INFINITY;
  }

  /** How long one may be used that is free now (ms, none if not positive). `announced` in seconds, as its Keep-Alive says; -1 without. */
  keepFor(announced: number): number {
    const told = announced < 0 ? IDLE_MS : announced * 1_000 - 1_000;
    const own = this.learnt - Math.max(LEAST_MARGIN_MS, this.learnt / 4);
    return Math.min(IDLE_MS, told, this.known ? own : IDLE_MS);
  }

  /** The target has closed a connection that was idle for `ms`. */
  closedAfter(ms: number): void {
    if (ms >= LEAST_LIMIT_MS) this.learnt = ms;
  }

  /** One has stayed open for as long as we would have used it without a limit. */
  outlasted(): void {
    this.learnt = Number.POSITIVE_INFINITY;
  }
}
