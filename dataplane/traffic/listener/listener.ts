import { createServer, type Server, type Socket } from 'node:net';
import { matcherOf } from '../../../shared/cidr.ts';
import { UNCOUNTED } from '../../ledger/connections.ts';
import { ClientConnection, type ClientTools } from '../http1/client-connection.ts';
import { type Peer, peerOf } from '../policy/forwarded/forwarded.ts';
import type { TrafficSettings } from '../protocol.ts';
import type { Admission } from './admission.ts';
import { Preface } from './preface.ts';

/** How many connections may wait to be accepted; the system's own limit may be lower. */
const BACKLOG = 4_096;
const IPV4_IN_IPV6 = '::ffff:';

/** The listening socket of one worker and the connections that came through it. */
export class Listener {
  private readonly server: Server;
  private readonly admission: Admission;
  private readonly tools: ClientTools;
  /** Each with its place in the ledger of addresses. */
  private readonly connections = new Map<ClientConnection | Preface, number>();
  /** Who stands at the other end of each. */
  private readonly peers = new Map<ClientConnection | Preface, Peer>();
  private trusts: (address: string) => boolean = () => false;
  private proxyProtocol = false;
  /** Set once draining has begun. */
  private emptied: Promise<void> | null = null;
  private whenEmpty: () => void = () => undefined;

  constructor(tools: Omit<ClientTools, 'trusts' | 'closed'>, admission: Admission) {
    this.tools = {
      ...tools,
      trusts: (address) => this.trusts(address),
      closed: (connection) => this.closed(connection),
    };
    this.admission = admission;
    this.server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.accept(socket));
    // The system could not hand over one connection; the port stays open for the next.
    this.server.on('error', (error) => {
      if (this.server.listening) this.admission.refused('descriptors', '', error.message);
    });
  }

  /** Opens the port beside the other workers'. @throws the system's error (EADDRINUSE, EACCES …). */
  async listen(settings: TrafficSettings): Promise<void> {
    this.apply(settings);
    try {
      await this.bind(settings.bind ?? '::', settings.httpPort);
    } catch (error) {
      // A machine without IPv6 still has every IPv4 address.
      if (settings.bind !== null || !isCode(error, 'EAFNOSUPPORT', 'EADDRNOTAVAIL')) throw error;
      await this.bind('0.0.0.0', settings.httpPort);
    }
  }

  private bind(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ host, port, backlog: BACKLOG, reusePort: process.platform === 'linux' }, () => {
        this.server.off('error', reject);
        resolve();
      });
    });
  }

  /** The port it listens on: the system's choice where the settings say 0. */
  get port(): number {
    const address = this.server.address();
    return address !== null && typeof address === 'object' ? address.port : 0;
  }

  /** Settings that hold from the next connection on; whom to trust, from the next request on. */
  apply(settings: TrafficSettings): void {
    this.trusts = matcherOf(settings.trustedProxies);
    this.proxyProtocol = settings.proxyProtocol;
    this.admission.apply(settings);
    for (const peer of this.peers.values()) peer.trusted = this.trusts(peer.address);
  }

  sweep(now: number): void {
    for (const connection of this.connections.keys()) connection.sweep(now);
  }

  /**
   * Takes no more connections and ends the ones it has, each after the answer it is at; where it is `patient`, kept ones
   * may ask once more. Resolves when the last is gone. A second call may be less patient than the first.
   */
  drain(patient: boolean): Promise<void> {
    this.server.close();
    for (const connection of this.connections.keys()) connection.drain(patient);
    this.emptied ??= new Promise((resolve) => {
      this.whenEmpty = resolve;
    });
    if (this.connections.size === 0) this.whenEmpty();
    return this.emptied;
  }

  private accept(socket: Socket): void {
    const remote = socket.remoteAddress;
    // Gone before we looked.
    if (remote === undefined) return void socket.destroy();
    const address = remote.startsWith(IPV4_IN_IPV6) ? remote.slice(IPV4_IN_IPV6.length) : remote;
    if (!this.admission.enter(address)) return void socket.resetAndDestroy();
    if (this.proxyProtocol) this.expectProxy(socket, address);
    else this.serve(socket, address);
  }

  /** A header from just anybody would be a forged address. */
  private expectProxy(socket: Socket, proxy: string): void {
    if (!this.trusts(proxy)) {
      this.admission.refused('untrusted_proxy', proxy, null);
      this.admission.leave(UNCOUNTED);
      return void socket.resetAndDestroy();
    }
    const preface = new Preface(socket, {
      monotonic: this.tools.monotonic,
      done: (read, client, address) => {
        this.connections.delete(read);
        this.serve(client, address ?? proxy);
      },
      refused: (read, reason) => {
        this.admission.refused('proxy_header', proxy, reason);
        this.closed(read);
      },
      gone: (ended) => this.closed(ended),
    });
    this.connections.set(preface, UNCOUNTED);
  }

  private serve(socket: Socket, address: string): void {
    const trusted = this.trusts(address);
    const place = trusted ? UNCOUNTED : this.admission.enterAddress(address);
    if (place === null) {
      this.admission.leave(UNCOUNTED);
      return void socket.resetAndDestroy();
    }
    const peer = peerOf(address, false, trusted);
    const connection = new ClientConnection(socket, peer, this.tools);
    this.connections.set(connection, place);
    this.peers.set(connection, peer);
    // It was read so far while the draining began.
    if (this.emptied !== null) connection.drain(true);
  }

  private closed(connection: ClientConnection | Preface): void {
    const place = this.connections.get(connection);
    if (place === undefined) return;
    this.connections.delete(connection);
    this.peers.delete(connection);
    this.admission.leave(place);
    if (this.connections.size === 0) this.whenEmpty();
  }
}

const isCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));
