import { TurnoverMap } from '../../../../shared/runtime/turnover-map.ts';
import { NOTHING_SENT } from '../../exchange/attempt.ts';
import type { Downstream, Exchange } from '../../exchange/exchange.ts';
import { FAILURE, type Failure } from '../../exchange/failure.ts';
import { guard, guardExchange, guarded } from '../../exchange/faults.ts';
import { attemptFailed } from '../../exchange/later.ts';
import type { TargetChannel } from '../target/channel.ts';
import type { Endpoint } from '../target/endpoint.ts';
import { IDLE_MS, IdleLimit } from '../target/idle-limit.ts';
import type { LastAddresses } from '../target/last-addresses.ts';
import { UNREAD_MS, WaitingRoom } from '../target/waiting-room.ts';
import { UpstreamConnection } from './connection.ts';

/** The maximum number of open connections to one target from one worker; further requests wait. */
const MAX_CONNECTIONS = 4_096;
/** The maximum that may be connecting at a time, so that requests which are cancelled early open no more than that. */
const MAX_CONNECTING = 64;
/** The maximum number of idle connections that are kept for one client each, as a fraction of all. */
const BOUND_PART = 0.25;
/** The maximum number of requests that wait if all connections are open; with fewer connections, more may wait. */
const MAX_WAITING = 1_024;

/** The HTTP/1.1 connections to one target; the most recently used one is reused first. */
export class Http1Connections implements TargetChannel {
  private readonly endpoint: Endpoint;
  private readonly idle: UpstreamConnection[] = [];
  /** Idle ones on which a client has authenticated, by that client. No other client may use them. */
  private readonly bound = new Map<Downstream, UpstreamConnection>();
  private readonly waiting: WaitingRoom;
  private readonly open = new TurnoverMap<UpstreamConnection, true>();
  /** How many of the open ones are still connecting. */
  private connecting = 0;
  /** Those still connecting whose request was cancelled: the next request takes the newest. */
  private readonly unclaimed: UpstreamConnection[] = [];
  private readonly limit = new IdleLimit();
  /** Those that are closed once their response is complete, because their target has moved; null if there has never been one. */
  private leaving: WeakSet<UpstreamConnection> | null = null;
  /** The connection that is kept unused to see whether its target closes it. */
  private idleProbe: UpstreamConnection | null = null;
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
    const now = this.endpoint.tools.clock.monotonic();
    const own = this.bound.size === 0 ? undefined : this.bound.get(x.client);
    if (own?.expired(now) === false) {
      this.bound.delete(x.client);
      return own.send(x, now);
    }
    const newest = this.idle.at(-1);
    // If the newest has been idle for too long, so have the others.
    if (newest === undefined || newest.expired(now)) return this.sendFresh(x);
    this.idle.pop();
    assign(newest, x, now);
  }

  sendFresh(x: Exchange): void {
    const { endpoint } = this;
    const unclaimed = this.unclaimed.pop();
    if (unclaimed !== undefined) return assign(unclaimed, x);
    if (this.open.size === 0) endpoint.wake();
    if (this.open.size >= this.maxConnections || this.connecting >= MAX_CONNECTING) {
      x.trace?.spans?.waits('connection');
      return this.waiting.enter(x, MAX_WAITING + this.maxConnections - this.open.size);
    }
    if (!endpoint.tools.sockets.enterUpstream()) return attemptFailed(x, endpoint, FAILURE.noDescriptors, NOTHING_SENT);
    const connection = new UpstreamConnection(endpoint, this, endpoint.connectMsFor(x));
    this.open.set(connection, true);
    this.connecting++;
    assign(connection, x);
    connection.connect();
  }

  /**
   * Ends the responses that have been unread for longest, for the requests that wait. One client over HTTP/2 can leave thousands unread, at
   * hardly any cost, and would keep all others from the target. To look for them costs too much to be done for each request.
   */
  private endUnread(before: number): void {
    if (this.waiting.empty || this.open.size < this.maxConnections) return;
    for (const connection of this.unreadSince(before)) {
      if (this.waiting.empty || this.connecting >= MAX_CONNECTING) return;
      guard(connection, connection.fail, FAILURE.unread);
    }
  }

  /** Those whose responses have been unread since before this time, the longest unread one first. */
  private unreadSince(before: number): UpstreamConnection[] {
    const unread = [...this.open.keys()].filter(({ unreadSince }) => unreadSince < before);
    return unread.sort((a, b) => a.unreadSince - b.unreadSince);
  }

  makeRoom(now: number): void {
    const unread = this.unreadSince(now - UNREAD_MS);
    for (const connection of unread.slice(0, Math.ceil(unread.length / 2))) guard(connection, connection.fail, FAILURE.unread);
  }

  /** A connection is established, with a request or without. */
  established(connection: UpstreamConnection, claimed: boolean): void {
    this.connecting--;
    if (!claimed) {
      remove(this.unclaimed, connection);
      this.release(connection, -1);
    }
    this.serveNext();
  }

  /** The request of a connecting connection was cancelled. If it were closed, the next request would only have to open another. */
  abandoned(connection: UpstreamConnection): void {
    connection.boundTo = null;
    const next = this.waiting.next();
    if (next !== null) sendGuarded(connection, next);
    else if (this.endpoint.leaving) connection.destroy();
    else this.unclaimed.push(connection);
  }

  private serveNext(): void {
    const next = this.waiting.next();
    if (next !== null) guardExchange(next, () => this.sendFresh(next));
  }

  /**
   * A connection has finished its exchange. What followed in the same segment, in a TLS record of its own, is read first: it must not answer
   * another request. Until then its place at the target is taken, or a request that waits for one would need another connection.
   */
  finished(connection: UpstreamConnection, keepAliveSeconds: number, now: number): void {
    const { endpoint } = this;
    if (endpoint.serverName === null) return this.release(connection, keepAliveSeconds, now);
    // It may be closed before.
    connection.idleSince = now;
    const ledgerSlot = endpoint.begin();
    const free = (): void => {
      endpoint.end(ledgerSlot);
      if (connection.isIdle) this.release(connection, keepAliveSeconds, now);
    };
    setImmediate(guarded(connection, free));
  }

  /** It can serve another. */
  release(connection: UpstreamConnection, keepAliveSeconds: number, now = this.endpoint.tools.clock.monotonic()): void {
    if (this.leaving?.has(connection)) return connection.destroy();
    const { boundTo } = connection;
    const next = boundTo === null ? this.waiting.next() : null;
    if (next !== null) return sendGuarded(connection, next);
    const keepFor = this.limit.keepFor(keepAliveSeconds);
    if (keepFor <= 0 || this.endpoint.leaving) return connection.destroy();
    connection.idle(now, now + keepFor);
    if (boundTo === null) this.idle.push(connection);
    else this.bind(connection, boundTo);
  }

  /**
   * Keeps a connection for its client, or the newest ones if there are many: a client can make each of its requests need one, and nobody
   * else can use them. They become no more while descriptors are scarce.
   */
  private bind(connection: UpstreamConnection, client: Downstream): void {
    const { bound, maxConnections, endpoint } = this;
    bound.set(client, connection);
    if (bound.size <= maxConnections * BOUND_PART && (bound.size === 1 || !endpoint.tools.sockets.isScarce)) return;
    const [oldest] = bound.values();
    oldest?.destroy();
  }

  /** A connection has reached its idle limit. One that belongs to no client is kept open, to see whether its target would. */
  idleExpired(connection: UpstreamConnection, now: number): void {
    const until = connection.idleSince + IDLE_MS;
    if (this.idleProbe === connection) this.limit.limitNotReached();
    else if (this.idleProbe === null && this.limit.known && now < until && connection.boundTo === null && !this.endpoint.leaving) {
      remove(this.idle, connection);
      this.idleProbe = connection;
      return connection.idle(connection.idleSince, until);
    }
    connection.destroy();
  }

  closedByTarget(connection: UpstreamConnection): void {
    this.limit.closedAfter(this.endpoint.tools.clock.monotonic() - connection.idleSince);
  }

  dropIdle(): void {
    for (const connection of [...this.idle.splice(0), ...this.bound.values(), ...this.unclaimed.splice(0)]) connection.destroy();
    this.idleProbe?.destroy();
  }

  keepTo(addresses: LastAddresses): void {
    for (const connection of [...this.open.keys()]) {
      const address = connection.socket?.remoteAddress;
      if (address === undefined || addresses.has(address)) continue;
      this.leaving ??= new WeakSet();
      this.leaving.add(connection);
      if (connection.isIdle) connection.destroy();
    }
  }

  collectRetryable(elsewhere: (x: Exchange) => boolean, recalled: Exchange[]): void {
    this.waiting.collectRetryable(elsewhere, recalled);
    for (const { retryable: x } of this.open.keys()) if (x !== null && elsewhere(x)) recalled.push(x);
  }

  /** A connection has closed; `wasEstablished` is whether it ever was, and `failure` why it was not. Calling it twice is harmless. */
  closed(connection: UpstreamConnection, wasEstablished: boolean, failure: Failure | null): void {
    if (!this.open.has(connection)) return;
    this.endpoint.tools.sockets.leaveUpstream();
    this.open.delete(connection);
    if (this.idleProbe === connection) this.idleProbe = null;
    if (connection.boundTo !== null && this.bound.get(connection.boundTo) === connection) this.bound.delete(connection.boundTo);
    if (wasEstablished) remove(this.idle, connection);
    else {
      this.connecting--;
      remove(this.unclaimed, connection);
    }
    // If it could not be opened and none is established, another attempt would probably fail too: waiting requests are retried elsewhere or
    // fail.
    if (failure !== null && this.open.size === this.connecting) this.waiting.fail(failure);
    else this.serveNext();
  }

  sweep(now: number): boolean {
    for (const connection of this.open.keys()) guard(connection, connection.sweep, now);
    this.endUnread(now - UNREAD_MS);
    this.waiting.sweep(now);
    return this.open.size > 0 || !this.waiting.empty;
  }
}

/** Searches from the end, since the newest are the likeliest to be removed. */
function remove(from: UpstreamConnection[], connection: UpstreamConnection): void {
  const at = from.lastIndexOf(connection);
  if (at >= 0) from.splice(at, 1);
}

/** Sends a request on a connection that no client has authenticated on. */
function assign(connection: UpstreamConnection, x: Exchange, now?: number): void {
  if (x.bindsConnection) connection.boundTo = x.client;
  connection.send(x, now);
}

/** A separate function, because one with a closure allocates what the closure captures even if it never creates the closure. */
function sendGuarded(connection: UpstreamConnection, x: Exchange): void {
  guardExchange(x, () => assign(connection, x));
}
