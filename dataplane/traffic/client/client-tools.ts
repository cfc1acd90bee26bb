import type { Socket } from 'node:net';
import type { Exchange } from '../exchange/exchange.ts';
import type { Faults } from '../exchange/faults.ts';
import type { RunQueue } from '../io/run-queue.ts';
import type { RefusedHead } from '../record/refused-heads.ts';
import type { ClientConnection } from './http1/connection.ts';

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
  serve(x: Exchange): void;
  begun(): void;
  /** The exchange is over, well or not. */
  record(x: Exchange): void;
  /** A head was refused before there was an exchange. */
  refused(head: RefusedHead, bytes: number): void;
  /** The client speaks HTTP/2 after all: the socket is paused, and what was read has been put back. */
  speaksHttp2(connection: ClientConnection, socket: Socket): void;
  closed(connection: ClientConnection): void;
};
