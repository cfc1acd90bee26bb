import { createServer, type Server } from 'node:net';
import { type Message, PATIENCE_MS, Wire } from './wire.ts';

/** Test support: an upstream whose every byte the test decides. */
export class UpstreamFixture {
  /** `127.0.0.1:port`, or `unix/` and a path. */
  readonly address: string;
  /** Every connection so far, open or not. */
  readonly connections: Wire[] = [];
  /** Every request that `serve` has read. */
  readonly requests: Message[] = [];
  /** Requests that `serve` was reading when their connection closed. */
  readonly cut: string[] = [];
  private readonly server: Server;
  private taken = 0;
  private readonly lookers: (() => void)[] = [];

  private constructor(server: Server, address: string) {
    this.server = server;
    this.address = address;
    server.on('connection', (socket) => {
      this.connections.push(new Wire(socket));
      for (const look of this.lookers.splice(0)) look();
    });
  }

  /** Listens on a port of 127.0.0.1, at `host:port`, or on the path of a socket. */
  static async start(at: number | string = 0): Promise<UpstreamFixture> {
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    const [host = '', port] = typeof at === 'string' && !at.startsWith('/') ? at.split(':') : ['127.0.0.1', at];
    const where = typeof at === 'string' && at.startsWith('/') ? { path: at } : { port: Number(port), host };
    await new Promise<void>((resolve) => server.listen(where, resolve));
    const address = server.address();
    if (typeof address === 'string') return new UpstreamFixture(server, `unix/${address}`);
    if (address === null) throw new Error('no port');
    return new UpstreamFixture(server, `${host}:${address.port}`);
  }

  /** An upstream that answers every request with the result of `answer`; null leaves it unanswered. */
  static async serving(
    answer: string | ((request: Message, wire: Wire) => string | Buffer | null),
    at: number | string = 0,
  ): Promise<UpstreamFixture> {
    const upstream = await UpstreamFixture.start(at);
    const same = typeof answer === 'string' ? Buffer.from(answer, 'latin1') : null;
    upstream.server.on('connection', () => {
      const wire = upstream.connections.at(-1);
      if (wire !== undefined)
        upstream.serve(wire, typeof answer === 'string' ? () => same : answer).catch((error) => upstream.cut.push(String(error)));
    });
    return upstream;
  }

  /** The next connection that has not been returned yet. @throws if none arrives. */
  async accept(): Promise<Wire> {
    if (this.connections.length <= this.taken) await this.another();
    return this.connections[this.taken++] as Wire;
  }

  private another(): Promise<void> {
    const had = this.connections.map((wire) => `${wire.total} bytes, ${wire.closed ? 'closed' : wire.ended ? 'ended' : 'open'}`);
    return new Promise((resolve, reject) => {
      const late = () => reject(new Error(`waited for one more connection to the target; before it: ${had.join('; ') || 'none'}`));
      const timer = setTimeout(late, PATIENCE_MS);
      this.lookers.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** The request on the next connection, and that connection. */
  async nextRequest(): Promise<{ wire: Wire; request: Message }> {
    const wire = await this.accept();
    return { wire, request: await wire.readRequest() };
  }

  private async serve(wire: Wire, answer: (request: Message, wire: Wire) => string | Buffer | null): Promise<void> {
    for (;;) {
      await wire.until('a request', () => wire.unread.includes('\r\n\r\n') || wire.ended || wire.closed);
      if (!wire.unread.includes('\r\n\r\n')) return void wire.end();
      const request = await wire.readRequest();
      this.requests.push(request);
      const bytes = answer(request, wire);
      if (bytes !== null) wire.send(bytes);
    }
  }

  [Symbol.dispose](): void {
    this.server.close();
    for (const { socket } of this.connections) socket.destroy();
  }
}

/** An address that refuses connections: nothing listens on it, since everything that tests start is on 127.0.0.1. */
export const refusingAddress = (): Promise<string> => freePortOf('127.0.0.99');

/** An address that refuses connections until the test listens there: other processes have others. */
export const freeAddress = (): Promise<string> => freePortOf(`127.98.${(process.pid >> 8) & 255}.${process.pid & 255}`);

async function freePortOf(host: string): Promise<string> {
  const upstream = await UpstreamFixture.start(`${host}:0`);
  upstream[Symbol.dispose]();
  return upstream.address;
}

/** A response of known length. */
export const ok = (body: string, fields = ''): string => `HTTP/1.1 200 OK\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`;
