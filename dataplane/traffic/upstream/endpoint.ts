import { splitAddress } from '../../../shared/address.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import { type Targets, targetKey } from '../../ledger/targets.ts';
import type { Exchange } from '../exchange.ts';
import { UpstreamConnection } from '../http1/upstream-connection.ts';
import type { TargetChange } from '../protocol.ts';
import type { Attempt } from './attempt.ts';
import { FAILURE, type Failure } from './failure.ts';
import type { Resolver } from './resolver.ts';
import type { Progress } from './retry.ts';

/** Open connections to one target from one worker; requests beyond that wait. */
const MAX_CONNECTIONS = 4_096;
/** Requests that may wait for a connection to one target; more are answered 503. */
const MAX_WAITING = 1_024;
/** How long a request waits there (ms), as long as for a connection to stand. */
const QUEUE_MS = 5_000;
/** How long a connection may take to stand (ms), name look-up and TLS included. */
const CONNECT_MS = 5_000;
/** The same where the address may be given up at any time: a container's, once that is gone, swallows packets for seconds instead of refusing. */
const PASSING_CONNECT_MS = 1_000;
/** An idle connection is dropped after this long (ms): most upstreams close theirs after 5 s. */
const IDLE_MS = 4_000;
/** An endpoint without connections that nothing has used for this long (ms) is forgotten. */
const FORGET_MS = 60_000;

/** How many connections the process may have open, clients' among them. */
export type SocketBudget = {
  /** Counts one more. @returns whether there may be one. */
  enterUpstream(): boolean;
  leaveUpstream(): void;
};

/** What endpoints share: the worker's clock, its column of the ledger, and where failures go. */
export type EndpointTools = {
  readonly clock: Clock;
  readonly log: Log;
  readonly targets: Targets;
  readonly slot: number;
  readonly resolver: Resolver;
  readonly sockets: SocketBudget;
  /** Open connections to one target; MAX_CONNECTIONS if absent. */
  readonly maxConnections?: number;
  /** A try failed by the target's own fault. */
  blamed(endpoint: Endpoint, failure: Failure): void;
  /** The target left the rotation or is back in it. */
  targetChanged(change: TargetChange): void;
  /** A connection to the target stands. */
  connected(endpoint: Endpoint): void;
  /** A try failed; the retry rules decide what becomes of the exchange. */
  failed(x: Exchange, endpoint: Endpoint, failure: Failure, progress: Progress): void;
};

const NOTHING_SENT: Progress = { written: false, answered: false, reused: false };

/** Where a target is, and how it is spoken to. */
export type Place = {
  readonly address: string;
  /** The name that its certificate must show; null without TLS. */
  readonly serverName: string | null;
  /** What it is at its source, where it has a name there: the address may belong to something else tomorrow. */
  readonly id: string | null;
};

/** One target address with its connections: the last one used is the first one used again. */
export class Endpoint implements Place {
  readonly address: string;
  readonly host: string;
  readonly port: number;
  /** The name that its certificate must show; null without TLS. */
  readonly serverName: string | null;
  readonly id: string | null;
  /** How long a connection may take to stand (ms). */
  readonly connectMs: number;
  readonly tools: EndpointTools;
  /** Its place in the ledger, sure to be its own while a connection is open. */
  ledgerSlot: number;
  lastUse: number;
  /** How many pools of the newest table have it. */
  named = 0;
  /** Whether a connection that is free waits for the next request. */
  private keeping = true;
  /** The last TLS session that the target gave; null without one. */
  session: Buffer | null = null;
  private readonly idle: UpstreamConnection[] = [];
  private readonly waiting: Waiting[] = [];
  private readonly open = new Set<UpstreamConnection>();
  private readonly maxConnections: number;
  private readonly awake: (endpoint: Endpoint) => void;

  /** `awake` is told when a first connection is opened: routes may hold on to an endpoint that was forgotten. */
  constructor({ address, serverName, id }: Place, tools: EndpointTools, awake: (endpoint: Endpoint) => void) {
    const { host, port } = splitAddress(address);
    this.address = address;
    this.host = host;
    this.port = Number(port);
    this.serverName = serverName;
    this.id = id;
    this.connectMs = id === null ? CONNECT_MS : PASSING_CONNECT_MS;
    this.tools = tools;
    this.awake = awake;
    this.maxConnections = tools.maxConnections ?? MAX_CONNECTIONS;
    this.ledgerSlot = this.claimSlot();
    this.lastUse = tools.clock.monotonic();
  }

  private claimSlot(): number {
    return this.tools.targets.claim(targetKey(this.address, this.serverName !== null, this.id), this.tools.clock.now());
  }

  ejected(now: number): boolean {
    return this.tools.targets.ejected(this.ledgerSlot, now);
  }

  /** Whether a connection is ready for the next request. */
  get warm(): boolean {
    return this.idle.length > 0;
  }

  /** An answer came. */
  succeeded(): void {
    if (this.tools.targets.succeeded(this.ledgerSlot)) this.changed(true, '');
  }

  /** A try failed by the target's own fault. */
  blame(failure: Failure): void {
    if (!failure.blamesTarget) return;
    this.tools.blamed(this, failure);
    if (!this.tools.targets.failed(this.ledgerSlot, this.tools.clock.now())) return;
    this.tools.log.warn({ target: this.address, failure: failure.code }, 'target out of rotation');
    this.changed(false, failure.reason);
  }

  private changed(healthy: boolean, reason: string): void {
    const { address, serverName, id } = this;
    this.tools.targetChanged({ address, tls: serverName !== null, ...(id !== null && { id }), healthy, reason });
  }

  /** Sends the exchange's request over an idle connection, a new one, or the next that becomes free. */
  send(x: Exchange): void {
    this.lastUse = x.startedAt;
    const connection = this.idle.pop();
    if (connection !== undefined) return connection.send(x);
    this.sendFresh(x);
  }

  /** As `send`, never over a connection that has served before. */
  sendFresh(x: Exchange): void {
    if (this.open.size === 0) this.wake();
    if (this.open.size < this.maxConnections) {
      if (!this.tools.sockets.enterUpstream()) return this.tools.failed(x, this, FAILURE.noDescriptors, NOTHING_SENT);
      const connection = new UpstreamConnection(this);
      this.open.add(connection);
      connection.send(x);
    } else if (this.waiting.length < MAX_WAITING) this.waiting.push(new Waiting(this.waiting, x, this.tools.clock.monotonic() + QUEUE_MS));
    else this.tools.failed(x, this, FAILURE.queueFull, NOTHING_SENT);
  }

  /** Unused for long, its place in the ledger may have gone to another target. */
  private wake(): void {
    this.awake(this);
    this.ledgerSlot = this.claimSlot();
  }

  /** A connection has finished its exchange and may serve another. */
  release(connection: UpstreamConnection, keepAliveSeconds: number): void {
    const next = this.waiting.shift();
    if (next !== undefined) return connection.send(next.x);
    const keepFor = keepAliveSeconds < 0 ? IDLE_MS : Math.min(IDLE_MS, keepAliveSeconds * 1_000 - 1_000);
    if (keepFor <= 0 || !this.keeping) return connection.destroy();
    connection.idleUntil(this.tools.clock.monotonic() + keepFor);
    this.idle.push(connection);
  }

  /** Where no further request is to be expected, a connection that waits for one only keeps its target from ending. */
  keepIdle(keeping: boolean): void {
    this.keeping = keeping;
    if (!keeping) for (const connection of this.idle.splice(0)) connection.destroy();
  }

  /** Whether its source has told it to stop, or names it no longer. */
  get leaving(): boolean {
    return !this.keeping;
  }

  /** Takes back requests that wait for their answer and may be sent again, those that `elsewhere` has a place for. */
  recall(elsewhere: (x: Exchange) => boolean): Exchange[] {
    const recalled: Exchange[] = [];
    for (const { x } of [...this.waiting]) if (elsewhere(x)) recalled.push(x);
    for (const { recallable: x } of this.open) if (x !== null && elsewhere(x)) recalled.push(x);
    for (const x of recalled) {
      x.attempt?.cancel();
      x.attempt = null;
    }
    return recalled;
  }

  /** A connection is gone. */
  closed(connection: UpstreamConnection): void {
    if (this.open.delete(connection)) this.tools.sockets.leaveUpstream();
    const at = this.idle.lastIndexOf(connection);
    if (at >= 0) this.idle.splice(at, 1);
    const next = this.waiting.shift();
    if (next !== undefined) this.sendFresh(next.x);
  }

  /** Enforces the time limits of all its connections. @returns whether the endpoint may be forgotten. */
  sweep(now: number): boolean {
    for (const connection of this.open) connection.sweep(now);
    while (this.waiting[0] !== undefined && now >= this.waiting[0].until) this.refuseWaiting();
    if (this.open.size > 0) this.tools.targets.used(this.ledgerSlot, this.tools.clock.now());
    return this.open.size === 0 && this.waiting.length === 0 && now - this.lastUse > FORGET_MS;
  }

  /** The first in the queue has waited too long. */
  private refuseWaiting(): void {
    const late = this.waiting.shift();
    if (late !== undefined) this.tools.failed(late.x, this, FAILURE.queueTimeout, NOTHING_SENT);
  }
}

/** A request in the queue of an endpoint. Nothing of it has been sent. */
class Waiting implements Attempt {
  readonly x: Exchange;
  /** Milliseconds on the monotonic clock. */
  readonly until: number;
  private readonly queue: Waiting[];

  constructor(queue: Waiting[], x: Exchange, until: number) {
    this.queue = queue;
    this.until = until;
    this.x = x;
    x.attempt = this;
  }

  body(): boolean {
    return false;
  }

  bodyEnd(): void {
    throw new Error('a waiting request streams no body');
  }

  resume(): void {
    // Nothing flows yet.
  }

  cancel(): void {
    const at = this.queue.indexOf(this);
    if (at >= 0) this.queue.splice(at, 1);
  }
}

/** The endpoints of one worker, by address and TLS name. */
export class Endpoints {
  readonly tools: EndpointTools;
  private readonly byName = new Map<string, Endpoint>();
  /** Those whose time limits have to be looked at. */
  private readonly inUse = new Set<Endpoint>();

  constructor(tools: EndpointTools) {
    this.tools = tools;
  }

  open(place: Place): Endpoint {
    const name = nameOf(place);
    let endpoint = this.byName.get(name);
    if (endpoint === undefined) {
      endpoint = new Endpoint(place, this.tools, (used) => this.inUse.add(used));
      this.byName.set(name, endpoint);
      this.inUse.add(endpoint);
    }
    return endpoint;
  }

  sweep(now: number): void {
    for (const endpoint of this.inUse) {
      if (!endpoint.sweep(now)) continue;
      this.inUse.delete(endpoint);
      const name = nameOf(endpoint);
      if (endpoint.named === 0 && this.byName.get(name) === endpoint) this.byName.delete(name);
    }
  }
}

const nameOf = ({ address, serverName, id }: Place): string => `${address} ${serverName ?? ''} ${id ?? ''}`;
