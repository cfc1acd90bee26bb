import type { Failure } from '../../exchange/failure.ts';

/** The owner of a connection, which is notified when it is established, free or closed. */
export type ConnectionOwner<C> = {
  /** The connection is established. `claimed`: it has a request to send. */
  established(connection: C, claimed: boolean): void;
  /** Its request was cancelled before the connection was established. */
  abandoned(connection: C): void;
  /**
   * Its exchange is over. `keepAliveSeconds` is how long the target promises to keep it open; -1 if it does not say. `now` in ms on the
   * monotonic clock.
   */
  finished(connection: C, keepAliveSeconds: number, now: number): void;
  /** Its idle time limit has expired. */
  idleExpired(connection: C, now: number): void;
  /** The target has closed it while it was idle. */
  closedByTarget(connection: C): void;
  /** `failure` is why it was never established; null if it was, or if it was given up. */
  closed(connection: C, wasEstablished: boolean, failure: Failure | null): void;
};
