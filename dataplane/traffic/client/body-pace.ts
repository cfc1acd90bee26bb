/** A body has this long whatever it brings (ms), and from then on so much for each second that it was waited for (bytes). */
const GRACE_MS = 30_000;
const LEAST_PER_SECOND = 500;

/** RFC 9110 15.5.9: why a request was not waited for any longer. */
export const TOO_SLOW = 'the body came too slowly';

/** How fast a request's body comes, over the time in which nothing but the client was waited for. */
export class BodyPace {
  private waited = 0;
  private looked: number;

  /** `now` in ms, when the body is first looked at. */
  constructor(now: number) {
    this.looked = now;
  }

  /** To be asked now and then. `received` is bytes so far; `theirs`, whether the client alone is waited for. @returns whether it is too slow. */
  tooSlow(now: number, received: number, theirs: boolean): boolean {
    if (theirs) this.waited += now - this.looked;
    this.looked = now;
    return theirs && this.waited > GRACE_MS && received * 1_000 < this.waited * LEAST_PER_SECOND;
  }
}
