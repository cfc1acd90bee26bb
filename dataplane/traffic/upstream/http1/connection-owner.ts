import type { Failure } from '../../exchange/failure.ts';

/** Who a connection belongs to: it is told when that stands, when it is free, and when it is gone. */
export type ConnectionOwner<C> = {
  /** `claimed`: it has a request to send. */
  stands(connection: C, claimed: boolean): void;
  /** Its request was called off before it stood. */
  abandoned(connection: C): void;
  /** `keepAliveSeconds` is how long the target promises to keep it open; -1 if it does not say. */
  release(connection: C, keepAliveSeconds: number): void;
  /** Its time to wait for a request is up. */
  idled(connection: C, now: number): void;
  /** Its target has closed it while it waited for a request. */
  left(connection: C): void;
  /** `failure` is why one never stood; null where it did, or was given up. */
  closed(connection: C, stood: boolean, failure: Failure | null): void;
};
