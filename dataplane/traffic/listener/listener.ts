import type { Socket } from 'node:net';
import type { Log } from '../../../shared/runtime/log/log.ts';
import { TurnoverMap } from '../../../shared/runtime/turnover-map.ts';
import { matcherOf } from '../../../shared/values/cidr.ts';
import { UNCOUNTED } from '../../ledger/connections.ts';
import type { ClientTools, OpenConnection, PeekedConnection } from '../client/client-tools.ts';
import { type Peer, peerOf } from '../client/forwarded.ts';
import { ClientConnection } from '../client/http1/connection.ts';
import { Http2Connection } from '../client/http2/connection.ts';
import { guard, guarded } from '../exchange/faults.ts';
import { AcceptedSocket } from '../io/accepted-socket.ts';
import type { NamedDescriptor, PassedSockets } from '../io/passed-sockets.ts';
import type { ClientAuth } from '../policy/client-certificate/client-auth.ts';
import type { IdleClose, TrafficSettings } from '../protocol.ts';
import type { Admission } from './admission.ts';
import type { Certificates, PresentedCertificate } from './certificates.ts';
import { HandshakeQueue } from './handshake-queue.ts';
import type { Hello } from './hello.ts';
import { Ports, portsOf } from './ports.ts';
import { ProxyHeaderReader } from './proxy-header.ts';
import { TlsHandshake } from './tls-handshake.ts';
import type { TlsServers } from './tls-servers.ts';

const IPV4_IN_IPV6 = '::ffff:';
/** The maximum number of handshakes of one worker that wait for certificates being ordered. */
const MAX_WAITING = 1_000;

export type ListenerTools = {
  readonly tools: Omit<ClientTools, 'trusts' | 'speaksHttp2' | 'closed'>;
  readonly admission: Admission;
  readonly certificates: Certificates;
  /** The client certificates required for a name at a place; null for none, and for names without a route. */
  clientAuthOf(name: string, port: number, localAddress: () => string): ClientAuth | null;
  /** Whether a name is routed, but not at this port. */
  isElsewhere(name: string, port: number): boolean;
  /** The function that takes over TLS connections for a name that arrive at a port; null if TLS ends here. */
  passthrough(name: string, port: number, localAddress: () => string): ((arrived: PeekedConnection) => OpenConnection) | null;
  /** A handshake waits for the first certificate of this name. */
  awaited(name: string): void;
  readonly tlsServers: TlsServers;
  readonly log: Log;
};

/** The listening sockets of one worker and the connections that came through them. */
export class Listener {
  private readonly plain: Ports;
  private readonly secure: Ports;
  private readonly admission: Admission;
  private readonly certificates: Certificates;
  private readonly clientAuthOf: ListenerTools['clientAuthOf'];
  private readonly isElsewhere: ListenerTools['isElsewhere'];
  private readonly passthrough: ListenerTools['passthrough'];
  private readonly awaited: ListenerTools['awaited'];
  private readonly tlsServers: TlsServers;
  private readonly log: Log;
  private readonly tools: ClientTools;
  /** Each with its row in the ledger of addresses. */
  private readonly connections = new TurnoverMap<OpenConnection, number>();
  /** The `Peer` of each connection that speaks HTTP. */
  private readonly peers = new TurnoverMap<OpenConnection, Peer>();
  private readonly handshakes: HandshakeQueue;
  /** Handshakes that wait for a certificate. */
  private readonly waiting = new Set<TlsHandshake>();
  private trusts: (address: string) => boolean = () => false;
  /** Whether connections to this port begin with a PROXY header. */
  private isProxied: (port: number) => boolean = () => false;
  /** Whether it accepts no more connections. */
  private stopped = false;
  /** Set once draining has begun. */
  private emptied: Promise<void> | null = null;
  private whenEmpty: () => void = () => undefined;

  constructor({ tools, admission, certificates, clientAuthOf, isElsewhere, passthrough, awaited, tlsServers, log }: ListenerTools) {
    this.tools = {
      ...tools,
      trusts: (address) => this.trusts(address),
      speaksHttp2: (connection, socket) => this.switchToHttp2(connection, socket),
      closed: (connection) => this.closed(connection),
    };
    this.handshakes = new HandshakeQueue(tools.monotonic);
    this.admission = admission;
    this.certificates = certificates;
    this.clientAuthOf = clientAuthOf;
    this.isElsewhere = isElsewhere;
    this.passthrough = passthrough;
    this.awaited = awaited;
    this.tlsServers = tlsServers;
    this.log = log;
    const failed = (error: Error): void => admission.refused('descriptors', '', error.message);
    const accept = (socket: AcceptedSocket, at: Arrival): void =>
      guarded({ onFault: (error) => this.drop(socket, null, error) }, () => this.accept(socket, at))();
    this.plain = new Ports(true, (socket, port) => accept(socket, { port, secure: false }), failed);
    this.secure = new Ports(false, (socket, port) => accept(socket, { port, secure: true }), failed);
  }

  /**
   * Opens the ports, which are shared with the other workers, or continues with sockets of the predecessor.
   * @throws the system's error (EADDRINUSE, EACCES …).
   */
  async listen(settings: TrafficSettings, passed?: PassedSockets): Promise<void> {
    this.adopt(settings);
    const { http, https } = portsOf(settings);
    await this.plain.listen(settings.bind, http, passed);
    if (https.length > 0) await this.secure.listen(settings.bind, https, passed);
    // Before the predecessor may end: Node accepts one more connection in a thread that it terminates, which is then reset.
    if (passed !== undefined) await this.acceptWaiting();
  }

  /** The listening sockets, for a successor. */
  get descriptors(): readonly NamedDescriptor[] {
    return [...this.plain.descriptors, ...this.secure.descriptors];
  }

  /** The ports without TLS and those with it, if they are open. */
  get ports(): { readonly http: readonly number[]; readonly https: readonly number[] } {
    return { http: this.plain.numbers, https: this.secure.numbers };
  }

  /** The main port without TLS. If the settings say 0, the system has chosen it. */
  get port(): number {
    return this.plain.main;
  }

  /** The main port for TLS; 0 while it is closed. */
  get securePort(): number {
    return this.secure.main;
  }

  /**
   * Applies settings from the next connection on. New ports are opened before old ones are closed, whose connections
   * stay; ports for TLS are opened when they are first needed.
   * @returns why a port can't be opened, in which case the old ones of its kind stay open; null if all are open.
   */
  async apply(settings: TrafficSettings): Promise<Error | null> {
    this.adopt(settings);
    const { bind } = settings;
    const { http, https } = portsOf(settings);
    // A draining listener opens no ports.
    if (this.stopped) return null;
    return (await this.move(this.plain, bind, http)) ?? (https.length === 0 ? null : await this.move(this.secure, bind, https));
  }

  private async move(at: Ports, bind: string | null, ports: readonly number[]): Promise<Error | null> {
    try {
      await at.listen(bind, ports);
    } catch (error) {
      this.log.error({ ports, error: String(error) }, 'a port cannot be opened');
      return error as Error;
    }
    // Draining may have begun meanwhile.
    if (this.stopped) at.close();
    return null;
  }

  /** Changed trusted proxies apply from the next request on. */
  private adopt(settings: TrafficSettings): void {
    this.trusts = matcherOf(settings.trustedProxies);
    const { proxyProtocol, proxyProtocolPorts } = settings;
    this.isProxied = (port) => proxyProtocol || proxyProtocolPorts.includes(port);
    this.admission.apply(settings);
    for (const peer of this.peers.values()) peer.trusted = this.trusts(peer.address);
  }

  /** Certificates were added or removed, or different ones are expected. */
  certificatesChanged(): void {
    for (const handshake of [...this.waiting]) guard(handshake, handshake.certificatesChanged);
  }

  sweep(now: number): void {
    for (const connection of this.connections.keys()) guard<OpenConnection, number>(connection, connection.sweep, now);
  }

  /** Accepts the connections that wait, and closes the ports. */
  async stopAccepting(): Promise<void> {
    await this.acceptWaiting();
    this.closePorts();
  }

  private async acceptWaiting(): Promise<void> {
    await Promise.all([this.plain.acceptWaiting(), this.secure.acceptWaiting()]);
  }

  private closePorts(): void {
    this.stopped = true;
    this.plain.close();
    this.secure.close();
  }

  /**
   * Stops accepting connections and ends the open ones, each after its current response. Resolves when the last has
   * closed. A second call may close the idle ones that the first let wait for a request.
   */
  drain(idleClose: IdleClose): Promise<void> {
    this.closePorts();
    for (const connection of this.connections.keys()) guard<OpenConnection, IdleClose>(connection, connection.drain, idleClose);
    this.emptied ??= new Promise((resolve) => {
      this.whenEmpty = resolve;
    });
    this.concludeIfEmpty();
    return this.emptied;
  }

  private accept(socket: AcceptedSocket, at: Arrival): void {
    const { remote } = socket;
    // Already closed.
    if (remote === null) return socket.destroy();
    const address = plainAddress(remote.address);
    if (!this.admission.enter(address)) return socket.cut();
    try {
      if (this.isProxied(at.port)) this.expectProxy(socket, address, remote.port, at);
      else this.admit(socket, address, remote.port, at);
    } catch (error) {
      this.drop(socket, UNCOUNTED, error);
    }
  }

  /** An exception before the connection had an owner: ends it and frees its place; null if it was not counted. */
  private drop(socket: AcceptedSocket, place: number | null, error: unknown): void {
    const { faults } = this.tools;
    faults.note('connection', error);
    faults.step(() => socket.cut());
    if (place !== null) faults.step(() => this.admission.leave(place));
    this.concludeIfEmpty();
  }

  /** A header from an untrusted peer could forge an address. */
  private expectProxy(socket: AcceptedSocket, proxy: string, port: number | null, at: Arrival): void {
    if (!this.trusts(proxy)) {
      this.admission.refused('untrusted_proxy', proxy, null);
      this.admission.leave(UNCOUNTED);
      return socket.cut();
    }
    const header = new ProxyHeaderReader(socket.socket, {
      monotonic: this.tools.monotonic,
      faults: this.tools.faults,
      done: (read, client) => {
        this.connections.delete(read);
        try {
          // Port 0 is that of a proxy that does not know it.
          this.admit(socket, client?.address ?? proxy, client === null ? port : client.port || null, at);
        } catch (error) {
          this.drop(socket, UNCOUNTED, error);
        }
      },
      refused: (read, reason) => {
        this.admission.refused('proxy_header', proxy, reason);
        this.closed(read);
      },
      gone: (ended) => this.closed(ended),
    });
    this.connections.set(header, UNCOUNTED);
  }

  /** Admits the connection now that the client's address is known. */
  private admit(socket: AcceptedSocket, address: string, port: number | null, at: Arrival): void {
    let place: number | null = UNCOUNTED;
    try {
      const trusted = this.trusts(address);
      if (!trusted) place = this.admission.enterAddress(address);
      if (place === null) {
        this.admission.leave(UNCOUNTED);
        socket.cut();
        return this.concludeIfEmpty();
      }
      if (at.secure) this.expectTls(socket, address, port, place, at.port);
      else {
        const peer = peerOf({ address, port, localPort: at.port, local: socket, tls: null, certificate: null, trusted });
        this.serve(socket, peer, place, false);
      }
    } catch (error) {
      this.drop(socket, place ?? UNCOUNTED, error);
    }
  }

  private expectTls(raw: AcceptedSocket, address: string, port: number | null, place: number, localPort: number): void {
    const { certificates } = this;
    const handshake = new TlsHandshake(raw, {
      monotonic: this.tools.monotonic,
      faults: this.tools.faults,
      find: (hello) => this.presentedFor(raw, requestedName(hello, raw), localPort) ?? this.defaultAt(raw, hello, localPort),
      passthrough: (hello) => {
        const pass = this.passthrough(requestedName(hello, raw), localPort, () => plainAddress(raw.localAddress ?? ''));
        return pass && ((stage, socket, head) => this.passOn(stage, pass, { socket, head, address, port, localPort }, place));
      },
      findChallenge: (name) => certificates.findChallenge(name),
      mayWait: (stage, hello) => {
        const name = requestedName(hello, raw);
        const may =
          certificates.expects(name) && !this.isElsewhere(name, localPort) && (this.waiting.has(stage) || this.waiting.size < MAX_WAITING);
        if (may && !this.waiting.has(stage)) {
          this.log.debug({ address, name }, 'a handshake waits for the first certificate of its name');
          this.awaited(name);
        }
        if (may) this.waiting.add(stage);
        else this.waiting.delete(stage);
        return may;
      },
      tlsServers: this.tlsServers,
      queue: this.handshakes,
      done: (stage, socket, facts, presented) => {
        this.connections.delete(stage);
        this.waiting.delete(stage);
        try {
          const trusted = this.trusts(address);
          const peer = peerOf({ address, port, localPort, local: socket, tls: facts, certificate: presented, trusted });
          this.serve(socket, peer, place, facts.protocol === 'h2');
        } catch (error) {
          this.drop(socket, place, error);
        }
      },
      gone: (stage, reason) => {
        this.waiting.delete(stage);
        if (reason !== '') this.log.debug({ address, reason }, 'no TLS');
        this.closed(stage);
      },
    });
    this.connections.set(handshake, place);
  }

  /** The certificate for a name, under the rule of the site that the name is routed to at this port; null if it is only at others. */
  private presentedFor(raw: AcceptedSocket, name: string, port: number): PresentedCertificate | null {
    const presented = this.certificates.find(name);
    if (presented === null || this.isElsewhere(name, port)) return null;
    return this.underRule(presented, raw, name, port);
  }

  private underRule(presented: PresentedCertificate, raw: AcceptedSocket, name: string, port: number): PresentedCertificate {
    const auth = this.clientAuthOf(name, port, () => plainAddress(raw.localAddress ?? ''));
    return auth === null ? presented : presented.under(auth);
  }

  private passOn(
    stage: TlsHandshake,
    pass: (arrived: PeekedConnection) => OpenConnection,
    arrived: Omit<PeekedConnection, 'closed'>,
    place: number,
  ): void {
    this.connections.delete(stage);
    this.waiting.delete(stage);
    try {
      this.connections.set(pass({ ...arrived, closed: (connection) => this.closed(connection) }), place);
    } catch (error) {
      this.drop(AcceptedSocket.ofStream(arrived.socket), place, error);
    }
  }

  /** The default certificate of the place where a connection arrived. */
  private defaultAt(raw: AcceptedSocket, hello: Hello, port: number): PresentedCertificate | null {
    const presented = this.certificates.findDefault(plainAddress(raw.localAddress ?? ''), port);
    return presented === null || hello.serverName === null ? presented : this.underRule(presented, raw, hello.serverName, port);
  }

  private serve(socket: AcceptedSocket, peer: Peer, place: number, http2: boolean): void {
    const connection = http2 ? new Http2Connection(socket.socket, peer, this.tools) : new ClientConnection(socket, peer, this.tools);
    this.connections.set(connection, place);
    this.peers.set(connection, peer);
    // Draining began while it was being read.
    if (this.emptied !== null) guard<OpenConnection, IdleClose>(connection, connection.drain, 'on-response');
  }

  private switchToHttp2(connection: OpenConnection, stream: Socket): void {
    const socket = AcceptedSocket.ofStream(stream);
    const place = this.connections.get(connection);
    const peer = this.peers.get(connection);
    if (place === undefined || peer === undefined) return socket.destroy();
    this.connections.delete(connection);
    this.peers.delete(connection);
    try {
      this.serve(socket, peer, place, true);
    } catch (error) {
      this.drop(socket, place, error);
    }
  }

  private closed(connection: OpenConnection): void {
    const place = this.connections.get(connection);
    if (place === undefined) return;
    this.admission.leave(place);
    this.connections.delete(connection);
    this.peers.delete(connection);
    this.concludeIfEmpty();
  }

  /** The drain is over when no connection is left, however the last one ended. */
  private concludeIfEmpty(): void {
    if (this.connections.size === 0) this.whenEmpty();
  }
}

/** The port that a connection arrived at. */
type Arrival = { readonly port: number; readonly secure: boolean };

const plainAddress = (address: string): string => (address.startsWith(IPV4_IN_IPV6) ? address.slice(IPV4_IN_IPV6.length) : address);

/** A client that connects by address sends no server name, so the address it reached is used. */
const requestedName = ({ serverName }: Hello, socket: AcceptedSocket): string => serverName ?? plainAddress(socket.localAddress ?? '');
