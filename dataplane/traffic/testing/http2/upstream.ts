import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientSessionOptions,
  connect,
  createSecureServer,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { ProxyFixture, site } from '../proxy/test-proxy.ts';

/** A request as received: its fields in order, names and values alternating. */
export type ReceivedRequest = { readonly stream: ServerHttp2Stream; readonly raw: readonly string[]; field(name: string): string | null };

type Answer = (asked: ReceivedRequest) => void;

/** Test support: an upstream that speaks only HTTP/2 and answers as the test decides. */
export class Http2UpstreamFixture {
  /** `127.0.0.1:port`. */
  readonly address: string;
  readonly sessions: ServerHttp2Session[] = [];
  /** Its connections, in order of arrival. */
  readonly sockets: Socket[] = [];
  readonly requests: ReceivedRequest[] = [];
  private readonly server: Http2Server;

  private constructor(server: Http2Server, port: number) {
    this.server = server;
    this.address = `127.0.0.1:${port}`;
  }

  /** Uses TLS if it has a certificate. */
  static async serving(answer: Answer, options: ServerOptions & { cert?: string; key?: string } = {}): Promise<Http2UpstreamFixture> {
    const server = options.cert === undefined ? createServer(options) : createSecureServer(options);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const upstream = new Http2UpstreamFixture(server, port);
    server.on('connection', (socket: Socket) => upstream.sockets.push(socket));
    server.on('session', (session: ServerHttp2Session) => {
      upstream.sessions.push(session);
      session.on('error', () => undefined);
    });
    server.on('stream', (stream: ServerHttp2Stream, _headers, _flags, raw: string[] = []) => {
      stream.on('error', () => undefined);
      const field = (name: string): string | null => {
        const at = raw.findIndex((text, index) => index % 2 === 0 && text === name);
        return at < 0 ? null : (raw[at + 1] ?? null);
      };
      const asked = { stream, raw, field };
      upstream.requests.push(asked);
      answer(asked);
    });
    return upstream;
  }

  [Symbol.dispose](): void {
    this.server.close();
    for (const session of this.sessions) session.destroy();
  }
}

/** Answers with a text and its Content-Length. */
export const okay =
  (body: string): Answer =>
  ({ stream }) => {
    stream.respond({ ':status': 200, 'content-length': body.length });
    stream.end(body);
  };

/** A proxy with one site, `a.test`, in front of upstreams that speak HTTP/2 without TLS. */
export const h2c = (...targets: readonly { readonly address: string }[]): Promise<ProxyFixture> =>
  ProxyFixture.start([{ ...site('a.test', ...targets), transport: { protocol: 'h2c' } }]);

/** Test support: a client that speaks HTTP/2 to a proxy without TLS. */
export class Http2Client {
  readonly session: ClientHttp2Session;

  constructor({ port }: { readonly port: number }, options: ClientSessionOptions = {}) {
    this.session = connect(`http://127.0.0.1:${port}`, options);
    this.session.on('error', () => undefined);
  }

  /** Sends a request to `a.test` and waits for the complete response. */
  async request(fields: OutgoingHttpHeaders, body?: string) {
    const stream = this.session.request({ ':authority': 'a.test', ...fields }, { endStream: body === undefined });
    let trailers: IncomingHttpHeaders = {};
    stream.on('trailers', (fields) => {
      trailers = fields;
    });
    if (body !== undefined) stream.end(body);
    const [head, flags] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }, number];
    let text = '';
    for await (const piece of stream.setEncoding('utf8')) text += piece;
    return { status: head[':status'], head, flags, body: text, trailers };
  }

  [Symbol.dispose](): void {
    this.session.destroy();
  }
}
