import type { IncomingOwner } from './incoming-session.ts';

/** One side of a connection, and what its peer may do (bytes, streams). */
export type SessionLimits = {
  readonly isServer: boolean;
  /** Concurrent streams that the peer may open; 0 for a client. */
  readonly streams: number;
  readonly streamWindow: number;
  /** The windows grow up to the maxima. A server's connection has its window once a request has a body, as long as there is memory for it. */
  readonly maxStreamWindow: number;
  readonly connectionWindow: number;
  readonly maxConnectionWindow: number;
  /** With this much unread on all streams, nothing more is read of the connection. */
  readonly maxUnread: number;
  /** The size of a list of fields, as RFC 9113 6.5.2 counts it. */
  readonly fieldList: number;
};

/** The user of a session. */
export interface SessionOwner extends IncomingOwner {
  /** Milliseconds. */
  monotonic(): number;
  /** Sends bytes in one write. @returns false when nothing more should be sent until `drained` is called. */
  write(parts: readonly Buffer[]): boolean;
  /** All bytes of one read have been processed. */
  readComplete(): void;
  /** Reading has to stop because too much is unread, or may continue. */
  holdBack(held: boolean): void;
  /** The peer accepts no further streams. */
  goingAway(): void;
  /** An error that we or the peer detected ends the connection. If we did, GOAWAY has been written. */
  failed(byPeer: boolean, reason: string): void;
  /** The connection has ended gracefully: everything has been written, and no stream is open. */
  finished(): void;
  onFault(error: unknown): void;
}
