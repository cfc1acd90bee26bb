/** The maximum number of concurrent streams of a session, even if the target allows more. Further requests use another session. */
export const MAX_STREAMS = 1_000;
/**
 * The maximum number of requests that a target without a limit of its own has not yet accepted on a session. Node's servers end one on which
 * they turn more than a hundred requests in a row away. Further requests use another session, or wait until the first ones are accepted.
 */
const MAX_UNACCEPTED = 100;

/** How many requests a target may be sent on a session. */
export class SessionRoom {
  private maxStreams = MAX_STREAMS;
  private maxUnaccepted = Number.POSITIVE_INFINITY;
  /** How many of its requests the target has not accepted yet. */
  private unaccepted = 0;

  /** The target has announced its limit, which is infinite if it has none. */
  limit(streams: number): void {
    this.maxStreams = Math.min(streams, MAX_STREAMS);
    this.maxUnaccepted = streams === Number.POSITIVE_INFINITY ? MAX_UNACCEPTED : streams;
  }

  /** Whether the target accepts none for now. */
  get isNone(): boolean {
    return this.maxStreams === 0;
  }

  /** Whether it gets no further one before it has accepted others. */
  get isAwaited(): boolean {
    return this.unaccepted >= this.maxUnaccepted;
  }

  /** Whether there is room for another stream if this many are open, of at most `most`. */
  isLeft(open: number, most: number): boolean {
    return !this.isAwaited && open < Math.min(this.maxStreams, most);
  }

  take(): void {
    this.unaccepted++;
  }

  /** The target has accepted one, or will not. @returns whether others have waited for that. */
  accepted(): boolean {
    return this.unaccepted-- >= this.maxUnaccepted;
  }
}
