import type { Failure } from '../../exchange/failure.ts';

/** The owner of a connection to an HTTP/2 target. */
export type UpstreamSessionOwner<Session> = {
  /** How many streams a session may have at a time. */
  readonly streamLimit: number;
  /** The target has turned a request away, while it served this many. */
  turnedAway(serving: number): void;
  /** The session can take a request now, or can no longer. */
  capacityChanged(session: Session): void;
  /** The session has closed with all of its streams. `failure` is why it was never established; null if it was. */
  ended(session: Session, failure: Failure | null): void;
};
