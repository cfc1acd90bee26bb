import { isIP } from 'node:net';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import type { Resolver } from '../../../../shared/upstreams/resolver.ts';
import { socketPath, splitAddress } from '../../../../shared/values/address.ts';
import { type Targets, targetKey } from '../../../ledger/targets.ts';
import type { Downstream, Exchange, PassiveHealth } from '../../exchange/exchange.ts';
import { FAILURE, type Failure } from '../../exchange/failure.ts';
import { type Faults, guardExchange } from '../../exchange/faults.ts';
import type { RunQueue } from '../../io/run-queue.ts';
import type { TargetChange } from '../../protocol.ts';
import { ErrorRate } from '../health/error-rate.ts';
import { UpgradeHealth } from '../health/upgrade-health.ts';
import type { TargetChannel } from './channel.ts';
import { LastAddresses } from './last-addresses.ts';
import { limitsFor } from './limits.ts';
import { LossWatch } from './loss-watch.ts';
import type { Transport } from './transport.ts';

/** How often a name that has no address is resolved again while connections to it are in use (ms). */
const LOOK_UP_MS = 30_000;
/** The connect timeout (ms), including name look-up and TLS. */
const CONNECT_MS = 5_000;
/**
 * The same for addresses that may vanish at any time: the address of a removed container drops packets for seconds instead of refusing
 * them.
 */
const PASSING_CONNECT_MS = 1_000;
/** An endpoint without connections is forgotten when it has not been used for this long (ms). */
const FORGET_MS = 60_000;

/** The share of its requests that a target gets when it enters the rotation with a slow start. */
const MIN_SHARE = 0.1;

/** Failures before a request was sent. All others may be due to what a client requests. */
const SAME_FOR_ALL: ReadonlySet<Failure> = new Set([
  FAILURE.unresolved,
  FAILURE.refused,
  FAILURE.noSocket,
  FAILURE.socketDenied,
  FAILURE.unreachable,
  FAILURE.connectTimeout,
  FAILURE.tls,
  FAILURE.noHttp2,
]);

/** After how many failures one success counts, also for a pool that counts none in a row. */
const failsToReset = ({ fails }: PassiveHealth): number => Math.max(1, fails);

/** The limit on open connections of the process, including those of clients. */
export type SocketBudget = {
  /** Counts one more. @returns whether it is within the limit. */
  enterUpstream(): boolean;
  leaveUpstream(): void;
  /** Whether more than half of it is in use. */
  readonly isScarce: boolean;
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
  /** An attempt failed through the target's fault. */
  blamed(endpoint: Endpoint, failure: Failure): void;
  /** The target left the rotation or is back in it. */
  targetChanged(change: TargetChange): void;
  /** A target with an id does not accept connections. */
  lost(target: { readonly address: string; readonly id: string }): void;
  /** A connection to the target is established. */
  connected(endpoint: Endpoint): void;
  /** Sends a request to upgrade to another protocol. */
  upgrade(x: Exchange, endpoint: Endpoint): void;
};

/** The address of a target and its transport. */
export type TargetName = {
  readonly address: string;
  /** The name that its certificate must be valid for; null without TLS. */
  readonly serverName: string | null;
  /** Its name at its source, if it has one: the address may belong to something else tomorrow. */
  readonly id: string | null;
  /** The transport options. */
  readonly transport: Transport;
};

/** One target address, its health, and its connections. */
export class Endpoint implements TargetName {
  readonly address: string;
  /** The path of its socket; null for one on the network. */
  readonly path: string | null;
  /** Its name or address; the same as `address` if it is a socket. */
  readonly host: string;
  readonly port: number;
  /** The name that its certificate must be valid for; null without TLS. */
  readonly serverName: string | null;
  readonly id: string | null;
  readonly transport: Transport;
  /** The connect timeout (ms) for exchanges without their own. */
  private readonly connectMs: number;
  readonly tools: EndpointTools;
  /** Its row in the ledger, which is guaranteed to be its own while a connection is open. */
  ledgerSlot: number;
  lastUse: number;
  /** How many pools of the newest table have it. */
  poolCount = 0;
  /** Whether an idle connection is kept for the next request. */
  private keeping = true;
  /** The last TLS session that the target gave; null without one. */
  session: Buffer | null = null;
  /** How its requests ended recently, for pools that judge it by that. */
  private readonly errors = new ErrorRate();
  readonly upgrades = new UpgradeHealth();
  /** null without an id: its address stays its own. */
  readonly loss: LossWatch | null;
  private readonly endsAwaited = new Set<() => void>();
  private endsScheduled = false;
  /** Whether the newest table has it in rotation, and since when (ms since 1970). */
  private rotates = false;
  private rotatesSince = 0;
  /** What it has saved up for its next request during a slow start. */
  private credit = 0;
  private readonly channel: TargetChannel;
  /** Whether its host is a name, and the addresses of that. */
  private readonly isNamed: boolean;
  private readonly addresses = new LastAddresses();
  /** When a name that has no address is resolved again, in ms on the monotonic clock. */
  private nextLookUp = 0;
  private readonly onWake: (endpoint: Endpoint) => void;

  /**
   * `open` creates the channel; `onWake` is called when a first connection is opened, since routes may still hold an endpoint that was
   * forgotten.
   */
  constructor(
    { address, serverName, id, transport }: TargetName,
    tools: EndpointTools,
    open: (endpoint: Endpoint) => TargetChannel,
    onWake: (endpoint: Endpoint) => void,
  ) {
    const path = socketPath(address);
    const { host, port } = path === null ? splitAddress(address) : { host: address, port: '0' };
    this.path = path;
    this.address = address;
    this.host = host;
    this.port = Number(port);
    this.isNamed = path === null && isIP(host) === 0;
    this.serverName = serverName;
    this.id = id;
    this.transport = transport;
    this.connectMs = id === null ? CONNECT_MS : PASSING_CONNECT_MS;
    this.loss = id === null ? null : new LossWatch(tools.clock, () => tools.lost({ address, id }));
    this.tools = tools;
    this.onWake = onWake;
    this.ledgerSlot = this.claimSlot();
    this.lastUse = tools.clock.monotonic();
    this.channel = open(this);
  }

  private claimSlot(): number {
    const { address, serverName, id, transport, tools } = this;
    return tools.targets.claim(targetKey(address, serverName !== null, id, transport.name), tools.clock.now());
  }

  /** The connect timeout for this exchange (ms). */
  connectMsFor(x: Exchange): number {
    return limitsFor(x).connectMs ?? this.connectMs;
  }

  /** Whether it has failed too often, perhaps for one client only. `now` in ms since 1970. */
  ejected(now: number): boolean {
    return this.tools.targets.ejected(this.ledgerSlot, now);
  }

  /** Whether it has failed too often to get this request. `now` in ms since 1970. */
  ejectedFor(x: Exchange, now: number): boolean {
    const { upgrade, client } = x;
    return (
      this.tools.targets.ejectedFor(this.ledgerSlot, now, client.address) || (upgrade !== null && this.upgrades.isOut(now, client.address))
    );
  }

  /** A request is on its way to it. @returns the row to count its end in. */
  begin(): number {
    this.tools.targets.begin(this.ledgerSlot, this.tools.slot);
    return this.ledgerSlot;
  }

  /** A request that began in this row has ended. */
  end(ledgerSlot: number): void {
    this.tools.targets.end(ledgerSlot, this.tools.slot);
    if (this.endsAwaited.size === 0 || this.endsScheduled) return;
    this.endsScheduled = true;
    // Only once the connection is free for the next request.
    queueMicrotask(() => {
      this.endsScheduled = false;
      for (const listener of [...this.endsAwaited]) listener();
    });
  }

  /** Calls a listener, which must not throw, soon after a request of this worker has ended. `awaits` false stops that. */
  awaitEnds(listener: () => void, awaits = true): void {
    if (awaits) this.endsAwaited.add(listener);
    else this.endsAwaited.delete(listener);
  }

  /**
   * Counts a request that is about to be sent.
   * @returns what to release once it has been; null if all workers have sent it `limit` already.
   */
  reserve(limit: number): number | null {
    const { tools, ledgerSlot } = this;
    return tools.targets.reserve(ledgerSlot, tools.slot, limit) ? ledgerSlot : null;
  }

  /** A request needs one of `limit` places there, and all are taken. */
  foundFull(limit: number): void {
    this.tools.targets.foundFull(this.ledgerSlot, limit, this.tools.clock.now());
  }

  /** Whether requests need a place there that unread responses take. */
  get lacksPlaces(): boolean {
    return this.tools.targets.lacksPlaces(this.ledgerSlot, this.tools.clock.now());
  }

  release(reserved: number): void {
    this.tools.targets.end(reserved, this.tools.slot);
  }

  /** Requests that it has got from all workers and not finished. */
  get inFlight(): number {
    return this.tools.targets.inFlight(this.ledgerSlot);
  }

  /** Whether a connection is ready for the next request. */
  get warm(): boolean {
    return this.channel.warm;
  }

  /** A response has arrived that counts as a success. */
  succeeded(passive: PassiveHealth): void {
    if (passive.errorShare > 0) this.errors.add(this.tools.clock.monotonic(), false);
    if (this.tools.targets.failures(this.ledgerSlot) === 0) return;
    if (this.tools.targets.succeeded(this.ledgerSlot, this.tools.clock.now(), failsToReset(passive))) this.changed(true, '');
  }

  /** An attempt to serve a client failed through the target's fault. `sent`: whether a byte of the request was. */
  blame(failure: Failure, passive: PassiveHealth, { address }: Downstream, sent = true): void {
    if (!failure.blamesTarget) return;
    const { tools, ledgerSlot, errors } = this;
    tools.blamed(this, failure);
    // With TLS, the other failures are also those of a handshake with a target that did accept the connection: `LossWatch.broken`.
    if (this.serverName === null || failure === FAILURE.refused) this.loss?.failed(failure);
    const { fails, outSecs, errorShare, errorRequests } = passive;
    const now = tools.clock.now();
    let out = tools.targets.failed(ledgerSlot, now, fails, outSecs, !sent || SAME_FOR_ALL.has(failure) ? null : address);
    if (errorShare > 0) {
      errors.add(tools.clock.monotonic(), true);
      if (errors.exceeds(errorShare, errorRequests)) {
        errors.clear();
        out = tools.targets.eject(ledgerSlot, now, outSecs) || out;
      }
    }
    if (!out) return;
    const forOneClient = tools.targets.failsOneClient(ledgerSlot);
    // Not reported if it is still down when it is tried again.
    if (tools.targets.failures(ledgerSlot) < 2 * failsToReset(passive))
      tools.log.warn({ target: this.address, failure: failure.code }, `target out of rotation${forOneClient ? ' for one client' : ''}`);
    this.changed(false, failure.reason, forOneClient);
  }

  /** An established connection was closed or unusable before its request to upgrade was answered: that says nothing about other requests. */
  blameForUpgrade(failure: Failure, passive: PassiveHealth, { address }: Downstream): void {
    const { tools, upgrades } = this;
    tools.blamed(this, failure);
    if (upgrades.failed(tools.clock.now(), address, passive))
      tools.log.warn({ target: this.address, failure: failure.code }, 'target out of rotation for upgrades');
  }

  /** A request is about to be sent to it. If it was out of rotation for such requests, others wait for the result. */
  tryAgain(now: number, passive: PassiveHealth, upgrade: string | null): void {
    if (upgrade !== null) this.upgrades.tryAgain(now, passive);
    this.tools.targets.tryAgain(this.ledgerSlot, now, failsToReset(passive), passive.outSecs);
  }

  /** Sets whether the newest table has it in rotation. */
  rotate(rotates: boolean): void {
    if (rotates && !this.rotates) this.rotatesSince = this.tools.clock.now();
    this.rotates = rotates;
  }

  /**
   * Whether it gets a request whose turn it is, `slowStartMs` being the time over which its share grows after it has entered the rotation.
   * `healthySince` is when its health check allowed that; it and `now` in ms since 1970.
   */
  ramped(now: number, slowStartMs: number, healthySince: number): boolean {
    const since = Math.max(this.rotatesSince, healthySince, this.tools.targets.backSince(this.ledgerSlot));
    const share = Math.max(MIN_SHARE, (now - since) / slowStartMs);
    // It is later than now if the clock has been set back, perhaps by hours.
    if (share >= 1 || since > now) return true;
    this.credit += share;
    if (this.credit < 1) return false;
    this.credit--;
    return true;
  }

  private changed(healthy: boolean, reason: string, forOneClient = false): void {
    const { address, serverName, id } = this;
    const transport = this.transport.name !== '' && { transport: this.transport.name };
    const state = { healthy, reason, ...(forOneClient && { forOneClient }) };
    this.tools.targetChanged({ address, tls: serverName !== null, ...(id !== null && { id }), ...transport, ...state });
  }

  /** Sends the exchange's request as soon as a connection is available. */
  send(x: Exchange): void {
    this.lastUse = x.startedAt;
    // HTTP/2 has no upgrades (RFC 9113 8.6); a request for one may be ignored (RFC 9110 7.8).
    if (x.upgrade === null || this.transport.http2) this.channel.send(x);
    else this.tools.upgrade(x, this);
  }

  /** Like `send`, but never over a reused connection. */
  sendFresh(x: Exchange): void {
    this.channel.sendFresh(x);
  }

  /** A first connection is about to be opened. After a long idle time, its row in the ledger may belong to another target. */
  wake(): void {
    this.onWake(this);
    this.ledgerSlot = this.claimSlot();
  }

  /** If no further requests are expected, an idle connection would only keep its target from shutting down. */
  keepIdle(keeping: boolean): void {
    this.keeping = keeping;
    if (!keeping) this.channel.dropIdle();
  }

  /** Whether its source has told it to stop or no longer lists it. */
  get leaving(): boolean {
    return !this.keeping;
  }

  /**
   * Whether its source has named it and no longer lists it, as far as the newest table has been used. Its address may be another's by now: a
   * connection that is established after that, because the system repeats its attempts, may lead there.
   */
  get isGone(): boolean {
    return this.id !== null && this.poolCount === 0;
  }

  /** Collects those requests that wait for their response, may be sent again, and are accepted by `elsewhere`. */
  collectRetryable(elsewhere: (x: Exchange) => boolean): Exchange[] {
    const recalled: Exchange[] = [];
    this.channel.collectRetryable(elsewhere, recalled);
    for (const x of recalled) {
      guardExchange(x, () => x.attempt?.cancel());
      x.attempt = null;
    }
    return recalled.filter((x) => x.status === 0);
  }

  /** A connection that is used all the time would stay at an address that its name no longer has for as long as anything listens there. */
  private followName(now: number): void {
    const newest = this.tools.resolver.latest(this.host);
    if (newest === null) return this.lookUpAgain(now);
    this.addresses.note(newest, now);
    if (!this.addresses.haveStayed) this.channel.keepTo(this.addresses);
  }

  /** The name did not exist the last time, and without new connections nothing else asks for it. */
  private lookUpAgain(now: number): void {
    if (now < this.nextLookUp) return;
    this.nextLookUp = now + LOOK_UP_MS;
    this.tools.resolver.resolve(this.host, () => undefined);
  }

  /** Enforces the time limits of all its connections. @returns whether the endpoint may be forgotten. */
  sweep(now: number): boolean {
    if (this.lacksPlaces) this.channel.makeRoom(now);
    const busy = this.channel.sweep(now);
    if (busy && this.isNamed) this.followName(now);
    if (busy) this.tools.targets.used(this.ledgerSlot, this.tools.clock.now());
    return !busy && now - this.lastUse > FORGET_MS;
  }
}
