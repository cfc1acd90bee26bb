import { createServer, type Server, type Socket } from 'node:net';
import { matcherOf } from '../../../shared/cidr.ts';
import { ClientConnection, type ClientTools } from '../http1/client-connection.ts';
import { peerOf } from '../policy/forwarded/forwarded.ts';
import type { TrafficSettings } from '../protocol.ts';

/** How many connections may wait to be accepted; the system's own limit may be lower. */
const BACKLOG = 4_096;
const IPV4_IN_IPV6 = '::ffff:';

/** The listening socket of one worker and the connections that came through it. */
export class Listener {
  private readonly server: Server;
  private readonly connections = new Set<ClientConnection>();
  private trusts: (address: string) => boolean = () => false;
  private whenEmpty: (() => void) | null = null;

  constructor(tools: Omit<ClientTools, 'trusts' | 'closed'>) {
    const clientTools: ClientTools = {
      ...tools,
      trusts: (address) => this.trusts(address),
      closed: (connection) => this.closed(connection),
    };
    this.server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.accept(socket, clientTools));
  }

  /** Opens the port beside the other workers'. @throws the system's error (EADDRINUSE, EACCES …). */
  async listen(settings: TrafficSettings): Promise<void> {
    this.trust(settings);
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

  trust(settings: TrafficSettings): void {
    this.trusts = matcherOf(settings.trustedProxies);
  }

  sweep(now: number): void {
    for (const connection of this.connections) connection.sweep(now);
  }

  /** Takes no more connections and ends the ones it has, each after the answer it is at. Resolves when the last is gone. */
  drain(): Promise<void> {
    this.server.close();
    for (const connection of this.connections) connection.drain();
    return new Promise((resolve) => {
      this.whenEmpty = resolve;
      if (this.connections.size === 0) resolve();
    });
  }

  private accept(socket: Socket, tools: ClientTools): void {
    const remote = socket.remoteAddress;
    // Gone before we looked.
    if (remote === undefined) return void socket.destroy();
    const address = remote.startsWith(IPV4_IN_IPV6) ? remote.slice(IPV4_IN_IPV6.length) : remote;
    this.connections.add(new ClientConnection(socket, peerOf(address, false, this.trusts(address)), tools));
  }

  private closed(connection: ClientConnection): void {
    this.connections.delete(connection);
    if (this.connections.size === 0) this.whenEmpty?.();
  }
}

const isCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));
