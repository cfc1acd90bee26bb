import type { Exchange } from '../exchange.ts';
import { UpstreamConnection } from '../http1/upstream-connection.ts';
import type { Channel } from './channel.ts';
import type { Endpoint } from './endpoint.ts';
import { FAILURE } from './failure.ts';
import { NOTHING_SENT } from './retry.ts';
import { WaitingRoom } from './waiting-room.ts';

/** Open connections to one target from one worker; requests beyond that wait. */
const MAX_CONNECTIONS = 4_096;
/** An idle connection is dropped after this long (ms): most upstreams close theirs after 5 s. */
const IDLE_MS = 4_000;

/** The HTTP/1.1 connections to one target: the last one used is the first one used again. */
export class Connections implements Channel {
  private readonly endpoint: Endpoint;
  private readonly idle: UpstreamConnection[] = [];
  private readonly waiting: WaitingRoom;
  private readonly open = new Set<UpstreamConnection>();
  private readonly maxConnections: number;

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint;
    this.waiting = new WaitingRoom(endpoint);
    this.maxConnections = endpoint.tools.maxConnections ?? MAX_CONNECTIONS;
  }

  get warm(): boolean {
    return this.idle.length > 0;
  }

  send(x: Exchange): void {
    const connection = this.idle.pop();
    if (connection !== undefined) return connection.send(x);
    this.sendFresh(x);
  }

  sendFresh(x: Exchange): void {
    const { endpoint } = this;
    if (this.open.size === 0) endpoint.wake();
    if (this.open.size < this.maxConnections) {
      if (!endpoint.tools.sockets.enterUpstream()) return endpoint.tools.failed(x, endpoint, FAILURE.noDescriptors, NOTHING_SENT);
      const connection = new UpstreamConnection(endpoint, this, endpoint.connectMsFor(x));
      this.open.add(connection);
      connection.send(x);
    } else this.waiting.enter(x);
  }

  /** A connection has finished its exchange and may serve another. */
  release(connection: UpstreamConnection, keepAliveSeconds: number): void {
    const next = this.waiting.next();
    if (next !== null) return connection.send(next);
    const keepFor = keepAliveSeconds < 0 ? IDLE_MS : Math.min(IDLE_MS, keepAliveSeconds * 1_000 - 1_000);
    if (keepFor <= 0 || this.endpoint.leaving) return connection.destroy();
    connection.idleUntil(this.endpoint.tools.clock.monotonic() + keepFor);
    this.idle.push(connection);
  }

  dropIdle(): void {
    for (const connection of this.idle.splice(0)) connection.destroy();
  }

  recall(elsewhere: (x: Exchange) => boolean, recalled: Exchange[]): void {
    this.waiting.recall(elsewhere, recalled);
    for (const { recallable: x } of this.open) if (x !== null && elsewhere(x)) recalled.push(x);
  }

  /** A connection is gone. */
  closed(connection: UpstreamConnection): void {
    if (this.open.delete(connection)) this.endpoint.tools.sockets.leaveUpstream();
    const at = this.idle.lastIndexOf(connection);
    if (at >= 0) this.idle.splice(at, 1);
    const next = this.waiting.next();
    if (next !== null) this.sendFresh(next);
  }

  sweep(now: number): boolean {
    for (const connection of this.open) connection.sweep(now);
    this.waiting.sweep(now);
    return this.open.size > 0 || !this.waiting.empty;
  }
}
