import type { Exchange } from '../exchange.ts';
import { guard, onBehalf } from '../faults.ts';
import { UpstreamConnection } from '../http1/upstream-connection.ts';
import type { Channel } from './channel.ts';
import type { Endpoint } from './endpoint.ts';
import { FAILURE, type Failure } from './failure.ts';
import { NOTHING_SENT } from './retry.ts';
import { WaitingRoom } from './waiting-room.ts';

/** Open connections to one target from one worker; requests beyond that wait. */
const MAX_CONNECTIONS = 4_096;
/** Those of them that may be on their way at a time: visitors who come and go open no more than that. */
const MAX_CONNECTING = 64;
/** Requests that may wait where all connections are open; where fewer are, more may. */
const MAX_WAITING = 1_024;
/** An idle connection is dropped after this long (ms): most upstreams close theirs after 5 s. */
const IDLE_MS = 4_000;

/** The HTTP/1.1 connections to one target: the last one used is the first one used again. */
export class Connections implements Channel {
  private readonly endpoint: Endpoint;
  private readonly idle: UpstreamConnection[] = [];
  private readonly waiting: WaitingRoom;
  private readonly open = new Set<UpstreamConnection>();
  /** How many of those that are open do not stand yet. */
  private connecting = 0;
  /** Those that do not stand yet and whose request was called off: the next one takes the newest. */
  private readonly unclaimed: UpstreamConnection[] = [];
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
    const unclaimed = this.unclaimed.pop();
    if (unclaimed !== undefined) return unclaimed.send(x);
    if (this.open.size === 0) endpoint.wake();
    if (this.open.size >= this.maxConnections || this.connecting >= MAX_CONNECTING)
      return this.waiting.enter(x, MAX_WAITING + this.maxConnections - this.open.size);
    if (!endpoint.tools.sockets.enterUpstream()) return endpoint.tools.failed(x, endpoint, FAILURE.noDescriptors, NOTHING_SENT);
    const connection = new UpstreamConnection(endpoint, this, endpoint.connectMsFor(x));
    this.open.add(connection);
    this.connecting++;
    connection.send(x);
    connection.connect();
  }

  /** A connection stands, with its request or without. */
  stands(connection: UpstreamConnection, claimed: boolean): void {
    this.connecting--;
    if (!claimed) {
      remove(this.unclaimed, connection);
      this.release(connection, -1);
    }
    this.serveNext();
  }

  /** The request of a connection that does not stand yet was called off. To tear it down would only have the next one open another. */
  abandoned(connection: UpstreamConnection): void {
    const next = this.waiting.next();
    if (next !== null) onBehalf(next, () => connection.send(next));
    else if (this.endpoint.leaving) connection.destroy();
    else this.unclaimed.push(connection);
  }

  private serveNext(): void {
    const next = this.waiting.next();
    if (next !== null) onBehalf(next, () => this.sendFresh(next));
  }

  /** A connection has finished its exchange and may serve another. */
  release(connection: UpstreamConnection, keepAliveSeconds: number): void {
    const next = this.waiting.next();
    if (next !== null) return onBehalf(next, () => connection.send(next));
    const keepFor = keepAliveSeconds < 0 ? IDLE_MS : Math.min(IDLE_MS, keepAliveSeconds * 1_000 - 1_000);
    if (keepFor <= 0 || this.endpoint.leaving) return connection.destroy();
    connection.idleUntil(this.endpoint.tools.clock.monotonic() + keepFor);
    this.idle.push(connection);
  }

  dropIdle(): void {
    for (const connection of [...this.idle.splice(0), ...this.unclaimed.splice(0)]) connection.destroy();
  }

  recall(elsewhere: (x: Exchange) => boolean, recalled: Exchange[]): void {
    this.waiting.recall(elsewhere, recalled);
    for (const { recallable: x } of this.open) if (x !== null && elsewhere(x)) recalled.push(x);
  }

  /** A connection is gone; `stood` is whether it ever stood, and `failure` why it did not. To say so twice does no harm. */
  closed(connection: UpstreamConnection, stood: boolean, failure: Failure | null): void {
    if (!this.open.has(connection)) return;
    this.endpoint.tools.sockets.leaveUpstream();
    this.open.delete(connection);
    if (stood) remove(this.idle, connection);
    else {
      this.connecting--;
      remove(this.unclaimed, connection);
    }
    // Where one could not be opened and none stands, the next one hardly can: who waits goes to another target, or is told.
    if (failure !== null && this.open.size === this.connecting) this.waiting.fail(failure);
    else this.serveNext();
  }

  sweep(now: number): boolean {
    for (const connection of this.open) guard(connection, connection.sweep, now);
    this.waiting.sweep(now);
    return this.open.size > 0 || !this.waiting.empty;
  }
}

/** The newest are the likeliest to go. */
function remove(from: UpstreamConnection[], connection: UpstreamConnection): void {
  const at = from.lastIndexOf(connection);
  if (at >= 0) from.splice(at, 1);
}
