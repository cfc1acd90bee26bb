import { NOTHING_SENT } from '../../exchange/attempt.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { FAILURE, type Failure } from '../../exchange/failure.ts';
import { guard, onBehalf } from '../../exchange/faults.ts';
import { attemptFailed } from '../../exchange/later.ts';
import type { Channel } from '../channel.ts';
import type { Endpoint } from '../endpoint.ts';
import { IDLE_MS, IdleLimit } from '../idle-limit.ts';
import { WaitingRoom } from '../waiting-room.ts';
import { UpstreamConnection } from './connection.ts';

/** Open connections to one target from one worker; requests beyond that wait. */
const MAX_CONNECTIONS = 4_096;
/** Those of them that may be on their way at a time: visitors who come and go open no more than that. */
const MAX_CONNECTING = 64;
/** Requests that may wait where all connections are open; where fewer are, more may. */
const MAX_WAITING = 1_024;

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
  private readonly limit = new IdleLimit();
  /** The connection that waits, unused, for its target to close it. */
  private scout: UpstreamConnection | null = null;
  private readonly maxConnections: number;

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint;
    this.waiting = new WaitingRoom(endpoint);
    this.maxConnections = endpoint.tools.maxConnections ?? MAX_CONNECTIONS;
  }

  get warm(): boolean {
    const newest = this.idle.at(-1);
    return newest !== undefined && !newest.expired(this.endpoint.tools.clock.monotonic());
  }

  send(x: Exchange): void {
    // Where the newest has waited for too long the others have, too.
    if (!this.warm) return this.sendFresh(x);
    this.idle.pop()?.send(x);
  }

  sendFresh(x: Exchange): void {
    const { endpoint } = this;
    const unclaimed = this.unclaimed.pop();
    if (unclaimed !== undefined) return unclaimed.send(x);
    if (this.open.size === 0) endpoint.wake();
    if (this.open.size >= this.maxConnections || this.connecting >= MAX_CONNECTING)
      return this.waiting.enter(x, MAX_WAITING + this.maxConnections - this.open.size);
    if (!endpoint.tools.sockets.enterUpstream()) return attemptFailed(x, endpoint, FAILURE.noDescriptors, NOTHING_SENT);
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
    const keepFor = this.limit.keepFor(keepAliveSeconds);
    if (keepFor <= 0 || this.endpoint.leaving) return connection.destroy();
    const now = this.endpoint.tools.clock.monotonic();
    connection.idle(now, now + keepFor);
    this.idle.push(connection);
  }

  /** A connection has waited for as long as it may. One in this place may wait on, to see whether its target would close it. */
  idled(connection: UpstreamConnection, now: number): void {
    const until = connection.idleSince + IDLE_MS;
    if (this.scout === connection) this.limit.outlasted();
    else if (this.scout === null && this.limit.known && now < until && !this.endpoint.leaving) {
      remove(this.idle, connection);
      this.scout = connection;
      return connection.idle(connection.idleSince, until);
    }
    connection.destroy();
  }

  left(connection: UpstreamConnection): void {
    this.limit.closedAfter(this.endpoint.tools.clock.monotonic() - connection.idleSince);
  }

  dropIdle(): void {
    for (const connection of [...this.idle.splice(0), ...this.unclaimed.splice(0)]) connection.destroy();
    this.scout?.destroy();
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
    if (this.scout === connection) this.scout = null;
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
