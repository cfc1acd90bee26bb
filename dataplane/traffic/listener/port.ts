import { createServer, type Server, type Socket } from 'node:net';

/** How many connections may wait to be accepted; the system's own limit may be lower. */
const BACKLOG = 4_096;

/** One listening socket, beside those of the other workers on the same port. */
export class Port {
  private readonly server: Server;

  /** `allowHalfOpen`: a client that has said all it will may still get answers. `failed` hears that the system could not hand over one connection; the port stays open for the next. */
  constructor(allowHalfOpen: boolean, accept: (socket: Socket) => void, failed: (error: Error) => void) {
    this.server = createServer({ allowHalfOpen, noDelay: true }, accept);
    this.server.on('error', (error) => {
      if (this.server.listening) failed(error);
    });
  }

  get open(): boolean {
    return this.server.listening;
  }

  /** 0 while it is closed. */
  get number(): number {
    const address = this.server.address();
    return address !== null && typeof address === 'object' ? address.port : 0;
  }

  /** `bind` null is every address, IPv4 and IPv6; port 0 is the system's choice. @throws the system's error (EADDRINUSE, EACCES …). */
  async listen(bind: string | null, port: number): Promise<void> {
    try {
      await this.bind(bind ?? '::', port);
    } catch (error) {
      // A machine without IPv6 still has every IPv4 address.
      if (bind !== null || !isCode(error, 'EAFNOSUPPORT', 'EADDRNOTAVAIL')) throw error;
      await this.bind('0.0.0.0', port);
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

  /** Takes no more connections. */
  close(): void {
    this.server.close();
  }
}

const isCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));
