import type { Exchange } from '../exchange/exchange.ts';

/** How requests get to one target from one worker: over connections of HTTP/1.1, or over sessions of HTTP/2. */
export interface Channel {
  /** Whether something stands that takes the next request at once. */
  readonly warm: boolean;
  /** Sends the exchange's request, or has it wait. Where it can't be sent it fails, perhaps before this returns. */
  send(x: Exchange): void;
  /** As `send`, never over a connection that has served before and may be gone. */
  sendFresh(x: Exchange): void;
  /** Ends what is open only for the next request. */
  dropIdle(): void;
  /** Adds requests that wait for their answer and may be sent again, those that `elsewhere` has a place for. */
  recall(elsewhere: (x: Exchange) => boolean, recalled: Exchange[]): void;
  /** Enforces all time limits. @returns whether something is open, or awaited. */
  sweep(now: number): boolean;
}
