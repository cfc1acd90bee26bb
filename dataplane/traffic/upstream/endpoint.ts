import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import { socketPath, splitAddress } from '../../../shared/values/address.ts';
import { FAILURES_TO_EJECT, type Targets, targetKey } from '../../ledger/targets.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Failure } from '../exchange/failure.ts';
import { type Faults, onBehalf } from '../exchange/faults.ts';
import type { RunQueue } from '../io/run-queue.ts';
import type { TargetChange } from '../protocol.ts';
import type { Channel } from './channel.ts';
import { limitsFor } from './limits.ts';
import type { Resolver } from './resolver.ts';
import type { Transport } from './transport.ts';

/** How long a connection may take to stand (ms), name look-up and TLS included. */
const CONNECT_MS = 5_000;
/** The same where the address may be given up at any time: a container's, once that is gone, swallows packets for seconds instead of refusing. */
const PASSING_CONNECT_MS = 1_000;
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
  readonly faults: Faults;
  readonly targets: Targets;
  readonly slot: number;
  readonly resolver: Resolver;
  readonly sockets: SocketBudget;
  readonly runQueue: RunQueue;
  /** Open connections to one target; MAX_CONNECTIONS if absent. */
  readonly maxConnections?: number;
  /** A try failed by the target's own fault. */
  blamed(endpoint: Endpoint, failure: Failure): void;
  /** The target left the rotation or is back in it. */
  targetChanged(change: TargetChange): void;
  /** A connection to the target stands. */
  connected(endpoint: Endpoint): void;
  /** Sends a request that asks for another protocol. */
  upgrade(x: Exchange, endpoint: Endpoint): void;
};

/** Where a target is, and how it is spoken to. */
export type TargetName = {
  readonly address: string;
  /** The name that its certificate must show; null without TLS. */
  readonly serverName: string | null;
  /** What it is at its source, where it has a name there: the address may belong to something else tomorrow. */
  readonly id: string | null;
  /** What is particular about how it is spoken to. */
  readonly transport: Transport;
};

/** One target address, how it fares, and the way there. */
export class Endpoint implements TargetName {
  readonly address: string;
  /** The path of its socket; null for one on the network. */
  readonly path: string | null;
  /** Its name or address; what `address` says where it is a socket. */
  readonly host: string;
  readonly port: number;
  /** The name that its certificate must show; null without TLS. */
  readonly serverName: string | null;
  readonly id: string | null;
  readonly transport: Transport;
  /** How long a connection may take to stand (ms), where the exchange that it is for has no limit of its own. */
  private readonly connectMs: number;
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
  private readonly channel: Channel;
  private readonly awake: (endpoint: Endpoint) => void;

  /** `open` makes the way there; `awake` is told when a first connection is opened: routes may hold on to an endpoint that was forgotten. */
  constructor(
    { address, serverName, id, transport }: TargetName,
    tools: EndpointTools,
    open: (endpoint: Endpoint) => Channel,
    awake: (endpoint: Endpoint) => void,
  ) {
    const path = socketPath(address);
    const { host, port } = path === null ? splitAddress(address) : { host: address, port: '0' };
    this.path = path;
    this.address = address;
    this.host = host;
    this.port = Number(port);
    this.serverName = serverName;
    this.id = id;
    this.transport = transport;
    this.connectMs = id === null ? CONNECT_MS : PASSING_CONNECT_MS;
    this.tools = tools;
    this.awake = awake;
    this.ledgerSlot = this.claimSlot();
    this.lastUse = tools.clock.monotonic();
    this.channel = open(this);
  }

  private claimSlot(): number {
    const { address, serverName, id, transport, tools } = this;
    return tools.targets.claim(targetKey(address, serverName !== null, id, transport.name), tools.clock.now());
  }

  /** How long a connection for this exchange may take to stand (ms). */
  connectMsFor(x: Exchange): number {
    return limitsFor(x).connectMs ?? this.connectMs;
  }

  ejected(now: number): boolean {
    return this.tools.targets.ejected(this.ledgerSlot, now);
  }

  /** Whether a connection is ready for the next request. */
  get warm(): boolean {
    return this.channel.warm;
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
    // One that is still dead when it may be tried again is no news.
    if (this.tools.targets.failures(this.ledgerSlot) < 2 * FAILURES_TO_EJECT)
      this.tools.log.warn({ target: this.address, failure: failure.code }, 'target out of rotation');
    this.changed(false, failure.reason);
  }

  private changed(healthy: boolean, reason: string): void {
    const { address, serverName, id } = this;
    const transport = this.transport.name !== '' && { transport: this.transport.name };
    this.tools.targetChanged({ address, tls: serverName !== null, ...(id !== null && { id }), ...transport, healthy, reason });
  }

  /** Sends the exchange's request as soon as there is a way. */
  send(x: Exchange): void {
    this.lastUse = x.startedAt;
    // HTTP/2 has no upgrades (RFC 9113 8.6); a wish for one may be ignored (RFC 9110 7.8).
    if (x.upgrade === null || this.transport.http2) this.channel.send(x);
    else this.tools.upgrade(x, this);
  }

  /** As `send`, never over a connection that has served before. */
  sendFresh(x: Exchange): void {
    this.channel.sendFresh(x);
  }

  /** A first connection is about to be opened. Unused for long, its place in the ledger may have gone to another target. */
  wake(): void {
    this.awake(this);
    this.ledgerSlot = this.claimSlot();
  }

  /** Where no further request is to be expected, a connection that waits for one only keeps its target from ending. */
  keepIdle(keeping: boolean): void {
    this.keeping = keeping;
    if (!keeping) this.channel.dropIdle();
  }

  /** Whether its source has told it to stop, or names it no longer. */
  get leaving(): boolean {
    return !this.keeping;
  }

  /** Takes back requests that wait for their answer and may be sent again, those that `elsewhere` has a place for. */
  recall(elsewhere: (x: Exchange) => boolean): Exchange[] {
    const recalled: Exchange[] = [];
    this.channel.recall(elsewhere, recalled);
    for (const x of recalled) {
      onBehalf(x, () => x.attempt?.cancel());
      x.attempt = null;
    }
    return recalled.filter((x) => x.status === 0);
  }

  /** Enforces the time limits of all its connections. @returns whether the endpoint may be forgotten. */
  sweep(now: number): boolean {
    const busy = this.channel.sweep(now);
    if (busy) this.tools.targets.used(this.ledgerSlot, this.tools.clock.now());
    return !busy && now - this.lastUse > FORGET_MS;
  }
}
