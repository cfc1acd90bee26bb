import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { codeOf } from '../../../shared/runtime/error-code.ts';
import { AcceptedSocket } from '../io/accepted-socket.ts';
import { acceptHandles, descriptorOf } from '../io/node-handle.ts';
import type { NamedDescriptor, PassedSockets } from '../io/passed-sockets.ts';
import { CLIENT_PROBES } from '../io/probes.ts';

/** The backlog of connections to be accepted; the system's own limit may be lower. */
const BACKLOG = 4_096;

/** One listening socket, on the same port as those of the other workers. */
export class Port {
  private readonly create: () => Server;
  private server: Server | null = null;
  /** The requested address and port. */
  private place: string | null = null;
  private chosen = 0;

  /**
   * `allowHalfOpen`: a client that has ended its side still gets responses. `failed` is called if a connection could not be accepted; the
   * port stays open.
   */
  constructor(allowHalfOpen: boolean, accept: (socket: AcceptedSocket, port: number) => void, failed: (error: Error) => void) {
    this.create = () => {
      const options = { allowHalfOpen, noDelay: true, keepAlive: true, keepAliveInitialDelay: CLIENT_PROBES.idleSecs * 1_000 };
      const server = createServer(options, (socket) => accept(AcceptedSocket.ofStream(socket), this.chosen));
      server.on('error', (error) => {
        if (server.listening) failed(error);
      });
      server.once('listening', () =>
        acceptHandles(server, (handle) => accept(AcceptedSocket.ofHandle(handle, allowHalfOpen), this.chosen), failed),
      );
      return server;
    };
  }

  /** 0 while it is closed. */
  get number(): number {
    return this.server?.listening === true ? this.chosen : 0;
  }

  /** Whether it listens at the requested place. */
  isAt(bind: string | null, port: number): boolean {
    return this.server?.listening === true && this.place === placeOf(bind, port);
  }

  /** Its socket, for a successor. */
  get descriptor(): NamedDescriptor | null {
    const descriptor = this.server?.listening === true ? descriptorOf(this.server) : null;
    return descriptor === null || this.place === null ? null : { name: this.place, descriptor };
  }

  /**
   * `bind` null is every address, IPv4 and IPv6; port 0 is the system's choice. Uses the socket of the predecessor if one was passed.
   * @throws the system's error (EADDRINUSE, EACCES …).
   */
  async listen(bind: string | null, port: number, passed: PassedSockets): Promise<void> {
    if (await this.adopt(placeOf(bind, port), port, passed)) return;
    let server = this.create();
    try {
      await this.listenOn(server, bind ?? '::', port);
    } catch (error) {
      // A machine without IPv6 still has every IPv4 address.
      if (bind !== null || !isCode(error, 'EAFNOSUPPORT', 'EADDRNOTAVAIL')) throw error;
      server = this.create();
      await this.listenOn(server, '0.0.0.0', port);
    }
    this.server = server;
    this.place = placeOf(bind, port);
  }

  /** @returns whether it listens on a socket that was passed for this place. */
  private async adopt(place: string, port: number, passed: PassedSockets): Promise<boolean> {
    const handle = passed.take(place, port);
    if (handle === null) return false;
    const server = this.create();
    try {
      await this.opened(server, 0, () => server.listen(handle, BACKLOG));
    } catch {
      // It is no listening socket any more.
      handle.close();
      return false;
    }
    this.server = server;
    this.place = place;
    return true;
  }

  private listenOn(server: Server, host: string, port: number): Promise<void> {
    const reusePort = process.platform === 'linux';
    return this.opened(server, port, () => server.listen({ host, port, backlog: BACKLOG, reusePort }));
  }

  private async opened(server: Server, port: number, open: () => Server): Promise<void> {
    // Connections may arrive in the turn in which it opens.
    server.once('listening', () => {
      const address = server.address();
      this.chosen = address !== null && typeof address === 'object' ? address.port : port;
    });
    await once(open(), 'listening');
  }

  /** Stops accepting connections. */
  close(): void {
    this.server?.close();
  }
}

const placeOf = (bind: string | null, port: number): string => `${bind} ${port}`;

const isCode = (error: unknown, ...codes: string[]): boolean => codes.includes(codeOf(error));
