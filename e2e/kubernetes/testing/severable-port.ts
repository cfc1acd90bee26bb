import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * Another port of a server on this machine, which a test can close, together with its connections, and open again. To a client, that is a
 * server that is gone, but the server doesn't have to start again.
 */
export class SeverablePort {
  port = 0;
  private readonly target: number;
  private server: Server | undefined;
  private readonly sockets = new Set<Socket>();

  /** Closed. @param target a port of loopback */
  constructor(target: number) {
    this.target = target;
  }

  async open(): Promise<void> {
    this.server = createServer({ allowHalfOpen: true }, (client) => this.connected(client));
    await once(this.server.listen(this.port, '127.0.0.1'), 'listening');
    ({ port: this.port } = this.server.address() as AddressInfo);
  }

  close(): void {
    this.server?.close();
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  private connected(client: Socket): void {
    const server = connect({ port: this.target, host: '127.0.0.1', allowHalfOpen: true });
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.sockets.add(from);
      // Each end learns from the other's that the connection is over.
      from.on('error', () => to.destroy()).on('close', () => this.sockets.delete(from));
      from.pipe(to);
    }
  }
}
