import type { Socket } from 'node:net';
import type { Answerable } from '../exchange/answerable.ts';
import type { Exchange, RequestPath } from '../exchange/exchange.ts';
import type { Faults } from '../exchange/faults.ts';
import type { RunQueue } from '../io/run-queue.ts';

/** A connection at one of its stages: its PROXY header is awaited, TLS is, or it speaks HTTP. */
export interface OpenConnection extends Answerable {
  /** Enforces its time limits; to be called now and then, with ms on the monotonic clock. */
  sweep(now: number): void;
  /** It ends after the exchanges that it is at; where that is `patient`, a kept one may ask once more. */
  drain(patient: boolean): void;
}

/** A head that was refused before it was an exchange. */
export type RefusedHead = { readonly status: number; readonly reason: string; readonly address: string };

/** What a connection needs of its worker. */
export type ClientTools = {
  readonly runQueue: RunQueue;
  monotonic(): number;
  readonly faults: Faults;
  trusts(address: string): boolean;
  nextRequestId(): string;
  /** Whether the worker is going away: answers carry `Connection: close`. */
  draining(): boolean;
  /** Whether it does so without waiting for one more request of those that keep their connection. */
  hurried(): boolean;
  readonly requestPath: RequestPath;
  begun(): void;
  /** The exchange is over, well or not. */
  record(x: Exchange): void;
  /** A head was refused before there was an exchange. */
  refused(head: RefusedHead, bytes: number): void;
  /** The client speaks HTTP/2 after all: the socket is paused, and what was read has been put back. */
  speaksHttp2(connection: OpenConnection, socket: Socket): void;
  closed(connection: OpenConnection): void;
};
