import { createHash } from 'node:crypto';
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, type OutgoingHttpHeaders } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, createSecureContext, type SecureContext } from 'node:tls';
import { hashSync } from 'bcrypt';
import type { RouteInput } from '../../../shared/route.ts';
import type { Cidr } from '../../../shared/values/cidr.ts';
import type { EntriesPublication } from '../protocol.ts';
import { Http2UpstreamFixture } from './http2/upstream.ts';
import { SecureFixture } from './proxy/secure-proxy.ts';
import { ProxyFixture, publication, site } from './proxy/test-proxy.ts';
import { ok, refusingAddress, UpstreamFixture } from './test-upstream.ts';
import { field, type Message, type Wire } from './wire.ts';

const WEBSOCKET = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** Turns of the event loop after which nothing more is expected. */
const MAX_TURNS = 4_000;
const LARGE = 'x'.repeat(100_000);
const HASH = hashSync('secret', 4);
const FOR_A_MINUTE = 'Cache-Control: max-age=60\r\nETag: "1"\r\n';

/** Answers by path. An upgrade is answered as its path says. */
function answer({ line, head, body }: Message, wire: Wire): string | null {
  const path = line.split(' ')[1] ?? '';
  if (path.startsWith('/socket')) {
    const accept = createHash('sha1')
      .update(`${field(head, 'sec-websocket-key')}${GUID}`)
      .digest('base64');
    wire.send(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\nhello`,
    );
    if (path.endsWith('/leave')) wire.end();
    return null;
  }
  if (path === '/large') return ok(LARGE);
  if (path === '/busy') return 'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n';
  if (path.startsWith('/cached/')) {
    if (field(head, 'if-none-match') !== null) return 'HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=0\r\n\r\n';
    return ok(
      path.endsWith('/large') ? LARGE : 'kept',
      path.endsWith('/stale') ? 'Cache-Control: max-age=0\r\nETag: "1"\r\n' : FOR_A_MINUTE,
    );
  }
  if (path === '/cut') {
    wire.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf');
    wire.reset();
    return null;
  }
  const hints = path === '/hints' ? 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n' : '';
  if (body === '') return `${hints}${ok('x')}`;
  return 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n';
}

/** Sends one request after the other, or other bytes that a client may write. Ends when each is answered or the connection has closed. */
type Talk = {
  readonly text: string;
  readonly enough: (received: string) => boolean;
  readonly secure?: boolean;
  readonly proxied?: boolean;
};

/** Whether there are this many final responses and the last one is complete. */
const answered =
  (count: number) =>
  (received: string): boolean => {
    const starts = [...received.matchAll(/HTTP\/1\.1 [2-5]\d\d /g)].map(({ index }) => index);
    const last = received.slice(starts[count - 1] ?? received.length);
    const body = last.slice(last.indexOf('\r\n\r\n') + 4);
    if (field(last, 'transfer-encoding') === 'chunked') return /(?:^|\r\n)0\r\n(?:.+\r\n)?\r\n$/.test(body);
    return starts.length >= count && last.includes('\r\n\r\n') && body.length >= Number(field(last, 'content-length'));
  };
const get = (path: string, fields = '', host = 'a.test'): string => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n`;
const post = (framing: string, body: string): string => `POST /upload HTTP/1.1\r\nHost: a.test\r\n${framing}\r\n\r\n${body}`;

const basic = (user: number): string => `Authorization: Basic ${Buffer.from(`bob:${user}`).toString('base64')}\r\n`;

const PROXIED = 'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n';
const CACHED = ['/cached/a', '/cached/a', '/cached/stale', '/cached/stale', '/cached/large', '/cached/none'];

/** Requests that need each other, such as those that wait for one another, are of one kind. `user` is a different number in each pass. */
const TALKS = {
  http1: (user) => [
    { text: get('/') + get('/large') + get('/hints', 'Connection: close\r\n'), enough: answered(3) },
    { text: get('/', '', 'x.y.deep.test'), enough: answered(1) },
    {
      text: post('Content-Length: 5', 'hello') + post('Transfer-Encoding: chunked', '3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n'),
      enough: answered(2),
    },
    { text: post('Content-Length: 100000', LARGE), enough: answered(1) },
    { text: 'BAD\r\n\r\n', enough: answered(1) },
    { text: get('/cut'), enough: () => false },
    { text: get('/', '', 'retried.test'), enough: answered(1) },
    { text: get('/', '', 'split.test').repeat(4), enough: answered(4) },
    { text: `PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n${get('/')}`, enough: answered(1), proxied: true },
    { text: get('/moved') + get('/fixed') + get('/private/x', basic(user)), enough: answered(3) },
  ],
  http2: () => [
    { text: get('/') + get('/'), enough: answered(2), secure: true },
    { text: get('/', '', 'modern.test') + post('Content-Length: 100000', LARGE).replace('a.test', 'modern.test'), enough: answered(2) },
  ],
  limits: () => [
    { text: get('/', '', 'limited.test') + get('/busy', '', 'limited.test'), enough: answered(2) },
    { text: get('/', '', 'limited.test'), enough: answered(1) },
    { text: get('/', '', 'limited.test'), enough: answered(1) },
    { text: get('/', '', 'held.test'), enough: answered(1) },
    { text: `${PROXIED}${get('/', '', 'held.test')}`, enough: answered(1), proxied: true },
  ],
  access: () => [
    { text: get('/', 'User-Agent: Googlebot\r\n', 'attacked.test'), enough: answered(1) },
    { text: get('/', 'Authorization: Bearer a.b.c\r\n', 'token.test').repeat(2), enough: answered(2) },
  ],
  files: () => [
    {
      text:
        get('/wire.ts', '', 'files.test') + get('/', '', 'files.test') + get('/none', '', 'files.test') + get('/busy', '', 'files.test'),
      enough: answered(4),
    },
    { text: get('/mixed-traffic.ts', 'Range: bytes=0-9,20-29\r\nAccept-Encoding: gzip\r\n', 'files.test'), enough: answered(1) },
  ],
  upgrades: () => [
    { text: get('/socket/stay', `${WEBSOCKET}Sec-WebSocket-Key: ${KEY}\r\n`), enough: (received) => received.includes('hello') },
    { text: get('/socket/leave', `${WEBSOCKET}Sec-WebSocket-Key: ${KEY}\r\n`), enough: () => false },
    { text: get('/declined', `${WEBSOCKET}Sec-WebSocket-Key: ${KEY}\r\n`), enough: answered(1) },
  ],
  cache: () => [
    {
      text: `${PROXIED}${CACHED.map((path) => get(path)).join('')}${get('/cached/large')}`,
      enough: answered(CACHED.length + 1),
      proxied: true,
    },
    { text: `${PROXIED}${get('/cached/large')}`, enough: answered(1), proxied: true },
    {
      text: `${PROXIED}${get('/cached/large', 'If-None-Match: "1"\r\n')}${get('/cached/a', 'Range: bytes=1-2\r\n')}`,
      enough: answered(1),
      proxied: true,
    },
    { text: `${PROXIED}${post('Content-Length: 5', 'hello').replace('/upload', '/cached/a')}`, enough: answered(1), proxied: true },
  ],
} satisfies Record<string, (user: number) => readonly Talk[]>;

/** A part of the traffic that needs no other. */
export type Kind = keyof typeof TALKS;
export const KINDS: readonly Kind[] = ['http1', 'http2', 'limits', 'access', 'files', 'upgrades', 'cache'];

/** Test support: every kind of request that a worker handles, over every protocol. */
export class MixedTraffic {
  readonly secure: SecureFixture;
  /** Expects PROXY headers. */
  readonly behindProxy: ProxyFixture;
  private readonly upstream: UpstreamFixture;
  private readonly modern: Http2UpstreamFixture;
  private readonly published: EntriesPublication;
  /** The connections of clients, with the responses that they wait for. */
  private readonly open = new Map<Socket | ClientHttp2Session, string>();
  private readonly ports: { readonly plain: number; readonly secure: number; readonly proxied: number };
  private readonly trust: SecureContext;
  private users = 0;

  private constructor(
    secure: SecureFixture,
    behindProxy: ProxyFixture,
    upstream: UpstreamFixture,
    modern: Http2UpstreamFixture,
    routes: readonly RouteInput[],
  ) {
    this.secure = secure;
    this.trust = createSecureContext({ ca: secure.ca });
    this.behindProxy = behindProxy;
    this.upstream = upstream;
    this.modern = modern;
    this.published = publication(routes, false);
    this.ports = { plain: secure.proxy.port, secure: secure.proxy.securePort, proxied: behindProxy.port };
  }

  static async start(): Promise<MixedTraffic> {
    const upstream = await UpstreamFixture.serving(answer);
    const modern = await Http2UpstreamFixture.serving(({ stream }) => {
      stream.respond({ ':status': 200 }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '1' }));
      stream.resume().on('end', () => stream.end('ok'));
    });
    const dead = { address: await refusingAddress() };
    const routes: RouteInput[] = [
      {
        ...site('a.test', upstream),
        rate_limit_rps: 10_000,
        redirects: [{ from: '/moved', to: '/new', status: 308 }],
        mirror: { upstream: upstream.address, percent: 100 },
        handles: [
          { path: '/private/*', basic_auth: { users: [{ name: 'bob', hash: HASH }] } },
          { path: '/fixed', respond: { status: 200, body: 'tea' } },
          { path: '/cached/*', cache: {} },
        ],
      },
      { ...site('modern.test', modern), transport: { protocol: 'h2c' } },
      { ...site('retried.test', dead, upstream), slow_start_secs: 1, passive_health: { error_percent: 90, statuses: ['5xx'] } },
      {
        ...site('split.test'),
        handles: [
          { path: null, match: { share: { from: 0, to: 1, of: 2, by: 'cookie' } }, upstreams: [{ address: upstream.address }] },
          { path: null, match: { share: { from: 1, to: 2, of: 2, by: 'cookie' } }, respond: { status: 500 } },
        ],
      },
      { ...site('limited.test', upstream), max_in_flight: { requests: 1, queue: 100 }, lb_retry_statuses: [503] },
      { ...site('*.deep.test', upstream), wildcard: 'many', ports: [1, 2] },
      { ...site('*.test', upstream), wildcard: 'many' },
      { ...site('held.test', dead), hold_secs: 1, cache: {} },
      { ...site('attacked.test', upstream), under_attack: true },
      {
        ...site('files.test'),
        root: import.meta.dirname,
        file_server: { browse: true, precompressed: ['gzip'] },
        try_files: ['{path}', '{path}/'],
        handle_errors: [{ files: { paths: ['/wire.ts'] }, intercept: true }],
        handles: [{ path: '/busy', upstreams: [{ address: upstream.address }] }],
      },
      { ...site('token.test', upstream), jwt: { key_source: { url: 'https://issuer.test/keys' } } },
    ];
    const compare = async (): Promise<boolean> => true;
    const secure = await SecureFixture.with(routes, { compare }, 'modern.test');
    const settings = { proxyProtocol: true, trustedProxies: ['127.0.0.1/32'] as Cidr[], cacheSize: 10_000_000 };
    const behindProxy = await ProxyFixture.with(routes, settings, {
      onCache: (message, worker) => {
        if (message.kind === 'look-up')
          worker.handle({ kind: 'cache', message: { kind: 'found', key: message.key, entries: [], purged: 0 } });
      },
    });
    return new MixedTraffic(secure, behindProxy, upstream, modern, routes);
  }

  /**
   * Sends everything of these kinds at once, after a change of the routes. Resolves when all of it has been answered or cut off; the clock is
   * advanced for what waits.
   */
  async pass(kinds: readonly Kind[] = KINDS): Promise<void> {
    await this.publish();
    const all = kinds.flatMap((kind) => this.send(kind));
    let over = false;
    const settled = Promise.all(all).then(() => {
      over = true;
    });
    for (let turn = 0; !over; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (turn % 20 === 19) this.passTime(turn < 200 ? 250 : 10_000);
      if (turn > MAX_TURNS) {
        const waiting = [...this.open.values()];
        for (const one of this.open.keys()) one.destroy();
        throw new Error(`${waiting.length} clients wait for answers that do not come:\n${waiting.join('\n')}`);
      }
      if (turn === 40) await this.publish();
    }
    await settled;
  }

  private async publish(): Promise<void> {
    await Promise.all([this.secure.proxy, this.behindProxy].map((proxy) => proxy.apply(this.published)));
  }

  private send(kind: Kind): Promise<unknown>[] {
    const talks = TALKS[kind](this.users++).map((talk) => this.talk(talk));
    return kind === 'http2' ? [...talks, this.overHttp2(true), this.overHttp2(false)] : talks;
  }

  passTime(ms: number): void {
    this.secure.proxy.clock.pass(ms);
    this.behindProxy.clock.pass(ms);
  }

  /** The status of one request over each protocol, and to each kind of target. */
  async fresh(): Promise<number[]> {
    const plain = await this.talk({ text: get('/'), enough: answered(1) });
    const secure = await this.talk({ text: get('/'), enough: answered(1), secure: true });
    const proxied = await this.talk({ text: `PROXY UNKNOWN\r\n${get('/')}`, enough: answered(1), proxied: true });
    const modern = await this.talk({ text: get('/', '', 'modern.test'), enough: answered(1) });
    const http1 = [plain, secure, proxied, modern].map((text) => Number(/^HTTP\/1\.1 (\d\d\d)/.exec(text)?.[1] ?? 0));
    return [...http1, ...(await this.overHttp2(true))];
  }

  private talk({ text, enough, secure = false, proxied = false }: Talk): Promise<string> {
    const port = proxied ? this.ports.proxied : secure ? this.ports.secure : this.ports.plain;
    const socket = secure
      ? connectTls({ host: '127.0.0.1', port, secureContext: this.trust, servername: 'a.test', ALPNProtocols: ['http/1.1'] })
      : connect({ host: '127.0.0.1', port, noDelay: true });
    this.open.set(socket, JSON.stringify(text.slice(0, 1_000)));
    let received = '';
    return new Promise((resolve) => {
      const settle = (): void => {
        this.open.delete(socket);
        socket.destroy();
        resolve(received);
      };
      socket.setEncoding('latin1').on('data', (piece: string) => {
        received += piece;
        if (enough(received)) settle();
      });
      socket.on('error', settle).on('end', settle).on('close', settle);
      socket.write(text, 'latin1');
    });
  }

  /** The statuses of a plain request, an upload and a WebSocket. 0 if it was cut off. */
  private async overHttp2(tls: boolean): Promise<number[]> {
    const session = tls
      ? connectHttp2(`https://a.test:${this.ports.secure}`, { secureContext: this.trust, host: '127.0.0.1' })
      : connectHttp2(`http://127.0.0.1:${this.ports.plain}`);
    this.open.set(session, 'HTTP/2');
    session.on('error', () => session.destroy());
    const accepted = await new Promise<boolean>((resolve) => {
      session.once('remoteSettings', () => resolve(true)).once('close', () => resolve(false));
    });
    if (!accepted) {
      this.open.delete(session);
      return [0, 0, 0, 0];
    }
    const common = { ':authority': 'a.test', ':scheme': tls ? 'https' : 'http' };
    const asked = [
      this.request(session, { ...common, ':path': '/large' }, ''),
      this.request(session, { ...common, ':path': '/upload', ':method': 'POST' }, LARGE),
      this.request(session, { ...common, ':path': '/socket/leave', ':method': 'CONNECT', ':protocol': 'websocket' }, null),
      this.request(session, { ...common, ':authority': 'modern.test', ':path': '/', ':method': 'POST', 'content-length': 5 }, 'hello'),
    ];
    const statuses = await Promise.all(asked);
    this.open.delete(session);
    session.destroy();
    return statuses;
  }

  /** `body` null: the other side closes it. */
  private request(session: ClientHttp2Session, fields: OutgoingHttpHeaders, body: string | null): Promise<number> {
    if (session.destroyed || session.closed) return Promise.resolve(0);
    const stream: ClientHttp2Stream = session.request(fields, { endStream: body === '' });
    let status = 0;
    stream.on('response', (head) => {
      status = head[':status'] ?? 0;
      if (body === null) stream.end();
    });
    if (body !== null && body !== '') stream.end(body);
    stream.on('error', () => undefined).resume();
    return new Promise((resolve) => stream.on('close', () => resolve(status)));
  }

  [Symbol.dispose](): void {
    for (const one of this.open.keys()) one.destroy();
    this.secure[Symbol.dispose]();
    this.behindProxy[Symbol.dispose]();
    this.upstream[Symbol.dispose]();
    this.modern[Symbol.dispose]();
  }
}
