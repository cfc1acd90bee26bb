import type { Socket } from 'node:net';
import type { OpenConnection, PeekedConnection } from '../client/client-tools.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Failure } from '../exchange/failure.ts';
import { type Faults, guarded } from '../exchange/faults.ts';
import type { PassedResult } from '../protocol.ts';
import type { Passthrough } from '../route/compiled-route.ts';
import { connectTo } from '../upstream/target/connect.ts';
import type { Endpoint } from '../upstream/target/endpoint.ts';
import type { OwnConnections } from './own-connections.ts';
import { proxyHeader } from './proxy-header.ts';

/** How long a connection continues after its target has left the route (ms). */
const GRACE_MS = 30_000;
/** How long a client may take to close a connection that was refused (ms). */
const LINGER_MS = 2_000;
const IPV4_IN_IPV6 = '::ffff:';

export type PassedTools = {
  readonly faults: Faults;
  /** Milliseconds. */
  monotonic(): number;
  /** Milliseconds since 1970. */
  now(): number;
  /** Counts the connection when it is known what becomes of it. */
  passed(result: PassedResult): void;
  /** Counts bytes that were copied. */
  moved(received: number, sent: number): void;
};

/**
 * A TLS connection that is passed on to a target undecrypted. Once the first byte has been sent, no other target is tried. Each side is
 * read only as fast as the other one takes it, and an end of one side is passed on, so that the other may go on sending.
 */
export class PassedConnection implements OpenConnection {
  private readonly client: Socket;
  private readonly arrived: PeekedConnection;
  private readonly passthrough: Passthrough;
  private readonly tools: PassedTools;
  /** Stands for the connection where targets are chosen. */
  private readonly x: Exchange;
  private readonly own: OwnConnections<Passthrough>;
  private upstream: Socket | null = null;
  private target: Endpoint | null = null;
  private ledgerSlot = 0;
  /** Cancels the attempt to connect. */
  private cancel: () => void = () => undefined;
  private cancelPending: (() => void) | null = null;
  /** Whether a byte was copied since the last sweep, and when that was last so. */
  private active = true;
  private lastActive: number;
  private received = 0;
  private sent = 0;
  private refusedAt = 0;
  private over = false;

  constructor(arrived: PeekedConnection, passthrough: Passthrough, x: Exchange, tools: PassedTools, own: OwnConnections<Passthrough>) {
    this.arrived = arrived;
    this.client = arrived.socket;
    this.passthrough = passthrough;
    this.x = x;
    this.tools = tools;
    this.own = own;
    this.lastActive = tools.monotonic();
    // The library would end our side as soon as the client ends its own.
    this.client.allowHalfOpen = true;
    // Its close event follows.
    this.client.on('error', () => undefined);
    this.client.on(
      'close',
      guarded(this, (hadError: boolean) => this.clientClosed(hadError)),
    );
  }

  /** The target that it is connected to; null before. */
  get endpoint(): Endpoint | null {
    return this.target;
  }

  /** Connects to a target. */
  start(): void {
    if (this.own.passed(this.client, this.arrived.head).includes(this.passthrough)) return this.refuse('failed');
    const { pool } = this.passthrough;
    const endpoint = pool.pick(this.tools.now(), this.x) ?? pool.pickDraining(this.x.tried);
    if (endpoint === null) return this.refuse(this.x.tried === null ? 'no_target' : 'failed');
    this.cancel = connectTo(
      endpoint,
      endpoint.connectMsFor(this.x),
      { alpn: 'http/1.1', halfOpen: true },
      (socket) => this.established(endpoint, socket),
      guarded(this, (failure: Failure) => this.failed(endpoint, failure)),
    );
  }

  private failed(endpoint: Endpoint, failure: Failure): void {
    if (this.over) return;
    const { pool } = this.passthrough;
    endpoint.blame(failure, pool.passive, this.x.client);
    this.x.tried ??= [];
    this.x.tried.push(endpoint);
    if (this.x.tried.length <= pool.retries.maxRetries) this.start();
    else this.refuse('failed');
  }

  private established(endpoint: Endpoint, upstream: Socket): void {
    const onFault = (error: unknown): void => {
      upstream.destroy();
      this.onFault(error);
    };
    guarded({ onFault }, () => this.join(endpoint, upstream))();
    endpoint.tools.connected(endpoint);
  }

  private join(endpoint: Endpoint, upstream: Socket): void {
    const { client, arrived, tools } = this;
    upstream.on('error', () => undefined);
    if (this.over) return void upstream.destroy();
    endpoint.succeeded(this.passthrough.pool.passive);
    this.target = endpoint;
    this.upstream = upstream;
    this.ledgerSlot = endpoint.begin();
    tools.passed('passed');
    this.own.opened(upstream, arrived.head, [...this.own.passed(client, arrived.head), this.passthrough]);
    upstream.on(
      'close',
      guarded(this, (hadError: boolean) => this.upstreamClosed(hadError)),
    );
    upstream.setNoDelay(true);
    const header = this.header();
    if (header !== null) upstream.write(header);
    upstream.write(arrived.head);
    this.received += arrived.head.length;
    this.copy(client, upstream, (length) => {
      this.received += length;
    });
    this.copy(upstream, client, (length) => {
      this.sent += length;
    });
    client.resume();
  }

  private header(): Buffer | null {
    const { arrived, client, passthrough } = this;
    if (passthrough.proxyProtocol === null) return null;
    const { localAddress = '' } = client;
    const to = {
      address: localAddress.startsWith(IPV4_IN_IPV6) ? localAddress.slice(IPV4_IN_IPV6.length) : localAddress,
      port: arrived.localPort,
    };
    return proxyHeader(passthrough.proxyProtocol, { address: arrived.address, port: arrived.port ?? 0 }, to);
  }

  private copy(from: Socket, to: Socket, count: (length: number) => void): void {
    from.on(
      'data',
      guarded(this, (piece: Buffer) => {
        this.active = true;
        count(piece.length);
        if (!to.write(piece)) from.pause();
      }),
    );
    to.on('drain', () => from.resume());
    // The client may have ended its side before the target was reached.
    if (from.readableEnded) to.end();
    else from.on('end', () => to.end());
  }

  private clientClosed(hadError: boolean): void {
    if (this.upstream === null) {
      this.cancel();
      return this.finish();
    }
    this.leave(this.upstream, hadError);
  }

  private upstreamClosed(hadError: boolean): void {
    this.leave(this.client, hadError);
  }

  /** One side is gone: the other gets the bytes that were sent to it, or a reset if the first was reset. */
  private leave(other: Socket, hadError: boolean): void {
    if (other.destroyed) return this.finish();
    if (hadError) other.resetAndDestroy();
    else other.destroySoon();
  }

  /** Its end is not ours, so no alert is sent in its place: the connection is closed, as by other proxies. */
  private refuse(result: PassedResult): void {
    this.tools.passed(result);
    this.refusedAt = this.tools.monotonic();
    this.client.on('end', () => this.client.destroy());
    this.client.end();
    this.client.resume();
  }

  sweep(now: number): void {
    this.report();
    if (this.active) {
      this.active = false;
      this.lastActive = now;
    }
    const isLate = this.refusedAt > 0 && now - this.refusedAt >= LINGER_MS;
    if (isLate || (this.target !== null && now - this.lastActive >= this.passthrough.idleMs)) this.close();
  }

  private report(): void {
    const { received, sent } = this;
    if (received + sent === 0) return;
    this.received = 0;
    this.sent = 0;
    this.tools.moved(received, sent);
  }

  /** Its content is unknown, so its end can only be waited for. */
  drain(): void {
    // The process ends it after the drain timeout.
  }

  /** Its target left the route: it is ended after a while. */
  closeLater(): void {
    this.cancelPending ??= this.target?.tools.clock.after(GRACE_MS, () => this.close()) ?? null;
  }

  /** Its target belongs to the route again. */
  cancelClose(): void {
    this.cancelPending?.();
    this.cancelPending = null;
  }

  private close(): void {
    this.upstream?.destroy();
    this.client.destroy();
  }

  private finish(): void {
    if (this.over) return;
    this.over = true;
    this.cancelClose();
    this.report();
    this.target?.end(this.ledgerSlot);
    this.arrived.closed(this);
  }

  onFault(error: unknown): void {
    const { faults } = this.tools;
    faults.note('connection', error);
    faults.step(() => this.cancel());
    faults.step(() => this.upstream?.destroy());
    faults.step(() => this.client.resetAndDestroy());
    if (this.client.destroyed) faults.step(() => this.finish());
  }
}
