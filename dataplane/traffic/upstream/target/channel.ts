import type { Exchange } from '../../exchange/exchange.ts';
import type { LastAddresses } from './last-addresses.ts';

/** How requests get from one worker to one target: over HTTP/1.1 connections or HTTP/2 sessions. */
export interface TargetChannel {
  /** Whether an established connection or session can take the next request at once. */
  readonly warm: boolean;
  /** Sends the exchange's request or queues it. If it can't be sent it fails, possibly before this returns. */
  send(x: Exchange): void;
  /** Like `send`, but never over a reused connection, which may have been closed. */
  sendFresh(x: Exchange): void;
  /** Closes idle connections. */
  dropIdle(): void;
  /** Those to other addresses get no further requests. */
  keepTo(addresses: LastAddresses): void;
  /** Adds those requests that wait for their response, may be sent again, and are accepted by `elsewhere`. */
  collectRetryable(elsewhere: (x: Exchange) => boolean, recalled: Exchange[]): void;
  /**
   * Requests lack a place at the target: ends half of the responses that clients have not read for a while, those that have been unread for
   * longest. So those of slow clients stay as long as possible, and a client that reads none of many gives room soon.
   */
  makeRoom(now: number): void;
  /** Enforces all time limits. @returns whether anything is open or waiting. */
  sweep(now: number): boolean;
}
