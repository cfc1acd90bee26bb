import type { Socket } from 'node:net';
import type { Exchange, RequestPath } from '../exchange/exchange.ts';
import type { FaultOwner } from '../exchange/fault-owner.ts';
import type { Faults } from '../exchange/faults.ts';
import type { RequestIds } from '../exchange/request-ids.ts';
import type { Tracing } from '../exchange/tracing/tracing.ts';
import type { RunQueue } from '../io/run-queue.ts';
import type { IdleClose } from '../protocol.ts';

/** A connection in one of its stages: waiting for the PROXY header, in the TLS handshake, or speaking HTTP. */
export interface OpenConnection extends FaultOwner {
  /** Enforces its time limits; called periodically, with ms on the monotonic clock. */
  sweep(now: number): void;
  /** Ends it after its current exchanges; an idle connection, when `idleClose` says. */
  drain(idleClose: IdleClose): void;
}

/** A client's connection whose ClientHello has been read, but not consumed. It is paused. */
export type PeekedConnection = {
  readonly socket: Socket;
  /** The bytes that have been read. */
  readonly head: Buffer;
  /** The client's address and port, from the PROXY header if there is one; the port is null if that has none. */
  readonly address: string;
  readonly port: number | null;
  readonly localPort: number;
  /** The connection is over; called once. */
  closed(connection: OpenConnection): void;
};

/** A head that was refused before it became an exchange. */
export type RefusedHead = { readonly status: number; readonly reason: string; readonly address: string };

/** What a connection needs from its worker. */
export type ClientTools = {
  readonly runQueue: RunQueue;
  monotonic(): number;
  readonly faults: Faults;
  trusts(address: string): boolean;
  readonly requestIds: RequestIds;
  /** null if requests are not traced. */
  readonly tracing: Tracing | null;
  /** Whether the worker is shutting down: responses carry `Connection: close`. */
  draining(): boolean;
  /** Whether it does so without waiting for one more request on idle connections. */
  mustCloseIdle(): boolean;
  readonly requestPath: RequestPath;
  /** An exchange has begun. */
  begun(): void;
  /** The exchange is over, successfully or not. */
  record(x: Exchange): void;
  /** A head was refused before there was an exchange. */
  refused(head: RefusedHead, bytes: number): void;
  /** The client speaks HTTP/2 after all: the socket is paused, and the bytes already read have been put back. */
  speaksHttp2(connection: OpenConnection, socket: Socket): void;
  closed(connection: OpenConnection): void;
};
