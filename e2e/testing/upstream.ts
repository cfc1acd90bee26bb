import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A service behind the proxy. By default it responds with its name and the request. */
export class Upstream {
  readonly name: string;
  readonly address: string;
  readonly port: number;
  requests = 0;
  private readonly server: Server;

  private constructor(name: string, server: Server) {
    const { address, port } = server.address() as AddressInfo;
    this.name = name;
    this.server = server;
    this.port = port;
    this.address = `${address}:${port}`;
    server.on('request', () => {
      this.requests++;
    });
  }

  /** `port` 0 means any free port. */
  static start(name: string, listener?: RequestListener, port = 0, host = '127.0.0.1'): Promise<Upstream> {
    const server = createServer(
      listener ??
        ((request, response) => {
          response.setHeader('content-type', 'application/json');
          response.end(JSON.stringify({ name, method: request.method, url: request.url, headers: request.headers }));
        }),
    );
    server.keepAliveTimeout = 60_000;
    return new Promise((resolve) => server.listen(port, host, () => resolve(new Upstream(name, server))));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
