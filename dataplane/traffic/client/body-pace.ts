/** A body may take this long at any pace (ms); after that it must average this many bytes per second of waiting. */
const GRACE_MS = 30_000;
const LEAST_PER_SECOND = 500;

/** RFC 9110 15.5.9: the reason logged for a request that took too long. */
export const TOO_SLOW = 'the body came too slowly';

/** Measures how fast a request's body arrives, over the time spent waiting for the client alone. */
export class BodyPace {
  private waited = 0;
  private looked: number;

  /** `now` in ms, when the body is first checked. */
  constructor(now: number) {
    this.looked = now;
  }

  /**
   * Called periodically. `received` is bytes so far; `theirs` is whether only the client causes the wait. @returns whether it is too slow.
   */
  tooSlow(now: number, received: number, theirs: boolean): boolean {
    if (theirs) this.waited += now - this.looked;
    this.looked = now;
    return theirs && this.waited > GRACE_MS && received * 1_000 < this.waited * LEAST_PER_SECOND;
  }
}
