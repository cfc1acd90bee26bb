import type { Failure } from '../../exchange/failure.ts';
import type { UpstreamConnection } from './connection.ts';

/** Who a connection belongs to: it is told when that stands, when it is free, and when it is gone. */
export type ConnectionOwner = {
  /** `claimed`: it has a request to send. */
  stands(connection: UpstreamConnection, claimed: boolean): void;
  /** Its request was called off before it stood. */
  abandoned(connection: UpstreamConnection): void;
  /** `keepAliveSeconds` is how long the target promises to keep it open; -1 if it does not say. */
  release(connection: UpstreamConnection, keepAliveSeconds: number): void;
  /** Its time to wait for a request is up. */
  idled(connection: UpstreamConnection, now: number): void;
  /** Its target has closed it while it waited for a request. */
  left(connection: UpstreamConnection): void;
  /** `failure` is why one never stood; null where it did, or was given up. */
  closed(connection: UpstreamConnection, stood: boolean, failure: Failure | null): void;
};
