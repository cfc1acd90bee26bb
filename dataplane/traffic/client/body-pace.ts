/** A body may take this long at any pace (ms); after that it must average this many bytes per second of waiting. */
const GRACE_MS = 30_000;
const MIN_PER_SECOND = 500;

/** RFC 9110 15.5.9: the reason logged for a request that took too long. */
export const TOO_SLOW = 'the body arrived too slowly';

/** Measures how fast a request's body arrives, over the time spent waiting for the client alone. */
export class BodyPace {
  private waited = 0;
  private checkedAt: number;

  /** `now` in ms, when the body is first checked. */
  constructor(now: number) {
    this.checkedAt = now;
  }

  /**
   * Called periodically. `received` is bytes so far; `clientOnly` is whether only the client causes the wait. @returns whether it is too
   * slow.
   */
  tooSlow(now: number, received: number, clientOnly: boolean): boolean {
    if (clientOnly) this.waited += now - this.checkedAt;
    this.checkedAt = now;
    return clientOnly && this.waited > GRACE_MS && received * 1_000 < this.waited * MIN_PER_SECOND;
  }
}
