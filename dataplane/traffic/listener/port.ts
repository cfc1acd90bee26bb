import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';

/** The backlog of connections to be accepted; the system's own limit may be lower. */
const BACKLOG = 4_096;

/** One listening socket, on the same port as those of the other workers. It can move to another port; its connections stay. */
export class Port {
  private readonly create: () => Server;
  private server: Server;
  /** The requested address and port. */
  private place: string | null = null;

  /**
   * `allowHalfOpen`: a client that has ended its side still gets responses. `failed` is called if one could not be accepted; the port stays
   * open.
   */
  constructor(allowHalfOpen: boolean, accept: (socket: Socket) => void, failed: (error: Error) => void) {
    this.create = () => {
      const server = createServer({ allowHalfOpen, noDelay: true }, accept);
      server.on('error', (error) => {
        if (server.listening) failed(error);
      });
      return server;
    };
    this.server = this.create();
  }

  get open(): boolean {
    return this.server.listening;
  }

  /** 0 while it is closed. */
  get number(): number {
    const address = this.server.address();
    return address !== null && typeof address === 'object' ? address.port : 0;
  }

  /**
   * `bind` null is every address, IPv4 and IPv6; port 0 is the system's choice. If it already listens elsewhere,
   * the old socket is closed once the new one listens. @throws the system's error (EADDRINUSE, EACCES …); the old socket then stays.
   */
  async listen(bind: string | null, port: number): Promise<void> {
    const place = `${bind} ${port}`;
    if (this.open && place === this.place) return;
    let fresh = this.create();
    try {
      await listenOn(fresh, bind ?? '::', port);
    } catch (error) {
      // A machine without IPv6 still has every IPv4 address.
      if (bind !== null || !isCode(error, 'EAFNOSUPPORT', 'EADDRNOTAVAIL')) throw error;
      fresh = this.create();
      await listenOn(fresh, '0.0.0.0', port);
    }
    this.close();
    this.server = fresh;
    this.place = place;
  }

  /** Stops accepting connections. */
  close(): void {
    this.server.close();
  }
}

const listenOn = (server: Server, host: string, port: number): Promise<unknown> =>
  once(server.listen({ host, port, backlog: BACKLOG, reusePort: process.platform === 'linux' }), 'listening');

const isCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));
