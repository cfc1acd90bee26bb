import assert from 'node:assert/strict';
import { createHash, generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { hashSync } from 'bcrypt';
import { POLICIES } from '../../dataplane/traffic/policy/order.ts';
import { makePair } from '../../shared/certificates/testing/pairs.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder, frame, NDJSON } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { RawClient } from '../testing/raw.ts';

/** The result for a client: the status and, in one text, the response header and what the upstream received. */
type Seen = { readonly status: number; readonly head: string };
type Request = { readonly host: string; readonly method: string; readonly fields: Readonly<Record<string, string>>; readonly body: string };
type Protocol = {
  readonly name: string;
  readonly kind: 'request' | 'upgrade';
  readonly secure: boolean;
  /** Whether its requests come first, to fill the cache. */
  readonly fills?: true;
  send(request: Request): Promise<Seen>;
};

/** A policy as a member of a route, and how a response shows that it took effect. */
type Case = {
  readonly route: object;
  readonly shows: (seen: Seen) => void;
  /** Whether the upstream gets nothing. */
  readonly rejects: boolean;
  /** The result that a dry run reports, which is a GET without a body and without credentials. */
  readonly explained: 'answers' | 'passes';
  readonly request?: { readonly method?: string; readonly fields?: Readonly<Record<string, string>>; readonly body?: string };
  /** Absent: all. */
  readonly applies?: (protocol: Protocol) => boolean;
  /** Requests that are sent first, for example to use up a limit. */
  readonly first?: number;
};

const authority = await makePair([], { subject: 'CN=staff', authority: true });
const { publicKey } = generateKeyPairSync('ed25519');
const PEM = publicKey.export({ type: 'spki', format: 'pem' }) as string;
const EVERYONE = { deny: ['0.0.0.0/0', '::/0'] };
const HEADERS = { 'x-plain': '1' };

const status =
  (expected: number) =>
  ({ status: seen }: Seen): void =>
    assert.equal(seen, expected);
const upstreamSaw =
  (expected: RegExp) =>
  ({ head }: Seen): void =>
    assert.match(head, expected);

/** By the name of the policy in the order. */
const CASES: Readonly<Record<string, Case>> = {
  httpsRedirect: {
    route: { https: 'internal' },
    shows: status(308),
    rejects: true,
    explained: 'answers',
    applies: ({ secure }) => !secure,
  },
  // With TLS the handshake itself fails, which the tests of client certificates show.
  clientCertificate: {
    route: { https: 'auto', client_auth: { ca: authority.certificate } },
    shows: status(403),
    rejects: true,
    explained: 'answers',
    applies: ({ secure }) => !secure,
  },
  ipFilter: { route: { ip_filter: EVERYONE }, shows: status(403), rejects: true, explained: 'answers' },
  cors: {
    route: { cors: { origins: ['https://front.test'] } },
    shows: upstreamSaw(/access-control-allow-origin: https:\/\/front\.test/i),
    rejects: false,
    explained: 'passes',
    request: { fields: { origin: 'https://front.test' } },
    applies: ({ kind }) => kind === 'request',
  },
  underAttack: { route: { under_attack: true }, shows: status(503), rejects: true, explained: 'answers' },
  maintenance: { route: { maintenance: {} }, shows: status(503), rejects: true, explained: 'answers' },
  rateLimit: { route: { rate_limits: [{ rph: 1 }] }, shows: status(429), rejects: true, explained: 'answers', first: 1 },
  requestBody: {
    route: { request_body: { max_size: 3 } },
    shows: status(413),
    rejects: true,
    explained: 'passes',
    request: { method: 'POST', body: 'four' },
    applies: ({ kind }) => kind === 'request',
  },
  redirect: { route: { redirects: [{ from: '/*', to: '/moved', status: 301 }] }, shows: status(301), rejects: true, explained: 'answers' },
  basicAuth: {
    route: { basic_auth: { users: [{ name: 'bob', hash: hashSync('secret', 4) }] } },
    shows: status(401),
    rejects: true,
    explained: 'answers',
  },
  jwt: { route: { jwt: { keys: [{ pem: PEM }] } }, shows: status(401), rejects: true, explained: 'answers' },
  // A dry run sends nothing to the authentication server.
  forwardAuth: { route: {}, shows: status(401), rejects: true, explained: 'passes' },
  method: {
    route: { methods: [{ method: 'PUT' }] },
    shows: upstreamSaw(/x-saw: PUT /i),
    rejects: false,
    explained: 'passes',
    // Requests for another protocol and HEAD keep their method.
    applies: ({ kind, name }) => kind === 'request' && name !== 'HEAD',
  },
  rewrite: {
    route: { rewrites: [{ to: '/elsewhere' }] },
    shows: upstreamSaw(/x-saw: \S+ \/elsewhere /i),
    rejects: false,
    explained: 'passes',
  },
  uri: {
    route: { uri: [{ query: { name: 'added', op: 'set', value: '1' } }] },
    shows: upstreamSaw(/x-saw: \S+ \/\S*\?added=1 /i),
    rejects: false,
    explained: 'passes',
  },
  requestHeader: {
    route: { request_headers: [{ name: 'X-Plain', value: '2' }] },
    shows: upstreamSaw(/x-saw: \S+ \S+ 2/i),
    rejects: false,
    explained: 'passes',
  },
  header: {
    route: { headers: [{ name: 'X-Added', value: 'yes' }] },
    shows: upstreamSaw(/x-added: yes/i),
    rejects: false,
    explained: 'passes',
  },
  respond: { route: { respond: { status: 418, body: 'tea' } }, shows: status(418), rejects: true, explained: 'answers' },
  // Its own tests cover what it copies.
  mirror: {
    route: { mirror: { upstream: '127.0.0.99:1' } },
    shows: status(200),
    rejects: false,
    explained: 'passes',
    applies: ({ kind }) => kind === 'request',
  },
};

const WEBSOCKET = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const saw = ({ method, url, headers }: IncomingMessage): string => `${method} ${url} ${headers['x-plain']}`;

/** The upstream: reports what it received in `X-Saw`, also when it switches protocols, and counts requests. */
class EchoUpstream {
  /** Requests by host. */
  readonly requests = new Map<string, number>();
  private readonly server = createServer((request, response) => {
    if (request.url === '/auth') return void response.writeHead(401).end();
    this.count(request);
    response.writeHead(200, { 'x-saw': saw(request), 'cache-control': 'max-age=600' });
    request.resume().on('end', () => response.end('x'));
  });

  static async start(): Promise<EchoUpstream> {
    const upstream = new EchoUpstream();
    upstream.server.on('upgrade', (request, socket) => {
      upstream.count(request);
      socket.on('error', () => socket.destroy());
      const accept = createHash('sha1').update(`${request.headers['sec-websocket-key']}${GUID}`).digest('base64');
      const fields = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-accept': accept, 'x-saw': saw(request) };
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${textOf(fields)}\r\n`);
    });
    await new Promise<void>((resolve) => upstream.server.listen(0, '127.0.0.1', resolve));
    return upstream;
  }

  private count({ headers: { host = '' } }: IncomingMessage): void {
    this.requests.set(host, (this.requests.get(host) ?? 0) + 1);
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  [Symbol.dispose](): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

const textOf = (fields: object): string =>
  Object.entries(fields)
    .map(([name, value]) => `${name}: ${String(value)}\r\n`)
    .join('');

/** Parses the text of a request over HTTP/1.x. @returns also the length of its body. */
function http1({ host, method, fields, body }: Request, version = '1.1'): string {
  const length = body === '' ? {} : { 'content-length': `${body.length}` };
  return `${method} /page HTTP/${version}\r\n${textOf({ host, ...HEADERS, ...fields, ...length })}\r\n${body}`;
}

const seenIn = (received: string): Seen => ({ status: Number(received.slice(9, 12)), head: received });

/** @returns the response with this number, the first being 1. */
async function raw(port: number, text: string, number = 1): Promise<Seen> {
  using client = await RawClient.open(port);
  client.write(text);
  const head = await until('the response', () => {
    const found = client.received.split(/(?=HTTP\/1\.[01] \d\d\d )/)[number - 1] ?? '';
    return found.includes('\r\n\r\n') ? found : undefined;
  });
  return seenIn(head);
}

async function rawOverTls(port: number, host: string, text: string): Promise<Seen> {
  const socket = connectTls({ host: '127.0.0.1', port, servername: host, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
  let received = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    received += piece;
  });
  try {
    await once(socket, 'secureConnect');
    socket.write(text);
    await until('the response', () => received.includes('\r\n\r\n'));
  } finally {
    socket.destroy();
  }
  return seenIn(received);
}

async function http2(origin: string, { host, method, fields, body }: Request, upgrade = false): Promise<Seen> {
  const session: ClientHttp2Session = connectHttp2(origin, { rejectUnauthorized: false, servername: host });
  session.on('error', () => undefined);
  try {
    if (upgrade && !session.remoteSettings.enableConnectProtocol) await once(session, 'remoteSettings');
    const pseudo = upgrade ? { ':method': 'CONNECT', ':protocol': 'websocket', 'sec-websocket-version': '13' } : { ':method': method };
    const scheme = origin.slice(0, origin.indexOf(':'));
    const length = body === '' ? {} : { 'content-length': `${body.length}` };
    const stream = session.request(
      { ':authority': host, ':scheme': scheme, ':path': '/page', ...pseudo, ...HEADERS, ...fields, ...length },
      { endStream: !upgrade && body === '' },
    );
    if (body !== '') stream.end(body);
    const [head] = (await once(stream, 'response')) as [Readonly<Record<string, string | number>>];
    stream.on('error', () => undefined).close();
    return { status: Number(head[':status']), head: textOf(head) };
  } finally {
    session.destroy();
  }
}

function protocolsOf(httpPort: number, httpsPort: number): readonly Protocol[] {
  const [plain, secure] = [`http://127.0.0.1:${httpPort}`, `https://127.0.0.1:${httpsPort}`];
  const other = http1({ host: 'open.test', method: 'GET', fields: {}, body: '' });
  const upgrade = (request: Request): string => http1({ ...request, fields: { ...WEBSOCKET, ...request.fields } });
  const onPlain = { kind: 'request', secure: false } as const;
  const onTls = { kind: 'request', secure: true } as const;
  return [
    { name: 'HTTP/1.1', ...onPlain, fills: true, send: (request) => raw(httpPort, http1(request)) },
    { name: 'HTTP/1.0', ...onPlain, send: (request) => raw(httpPort, http1(request, '1.0')) },
    { name: 'HEAD', ...onPlain, send: (request) => raw(httpPort, http1({ ...request, method: 'HEAD' })) },
    { name: 'pipelining', ...onPlain, send: (request) => raw(httpPort, other + http1(request), 2) },
    { name: 'an upgrade', ...onPlain, kind: 'upgrade', send: (request) => raw(httpPort, upgrade(request)) },
    { name: 'HTTP/2', ...onPlain, send: (request) => http2(plain, request) },
    { name: 'a WebSocket over HTTP/2', ...onPlain, kind: 'upgrade', send: (request) => http2(plain, request, true) },
    { name: 'HTTP/1.1 over TLS', ...onTls, fills: true, send: (request) => rawOverTls(httpsPort, request.host, http1(request)) },
    { name: 'an upgrade over TLS', ...onTls, kind: 'upgrade', send: (request) => rawOverTls(httpsPort, request.host, upgrade(request)) },
    { name: 'HTTP/2 over TLS', ...onTls, send: (request) => http2(secure, request) },
    { name: 'a WebSocket over HTTP/2 and TLS', ...onTls, kind: 'upgrade', send: (request) => http2(secure, request, true) },
  ];
}

const DOES = 'every policy decides on every protocol, for upgrades, before the cache, and as it is explained';

test(DOES, async (t) => {
  assert.deepEqual(
    Object.keys(CASES),
    POLICIES.map(({ name }) => name),
    'there is a case for each policy, in their order',
  );
  using folder = new Folder();
  using upstream = await EchoUpstream.start();
  const httpsPort = await freePort();
  const flags = ['--https-port', `${httpsPort}`, '--cache-size', '10mb'];
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state'), workers: 1, flags });
  const protocols = protocolsOf(dataplane.httpPort, httpsPort);
  let revision = 0;
  const apply = async (policies: (name: string) => object): Promise<void> => {
    const site = { upstream: upstream.address, cache: {} };
    const routes = Object.keys(CASES).flatMap((name) => [
      { domain: hostOf(name, false), ...site, https: 'off', ...policies(name) },
      { domain: hostOf(name, true), ...site, https: 'internal', ...policies(name) },
    ]);
    const lines = frame(++revision, [{ domain: 'open.test', upstream: upstream.address }, ...routes]);
    const { status: code, text } = await dataplane.admin('POST', '/routes', lines, NDJSON);
    assert.equal(code, 200, text);
  };
  const visit = (name: string, protocol: Protocol, { method = 'GET', fields = {}, body = '' }: Case['request'] = {}): Promise<Seen> =>
    protocol.send({ host: hostOf(name, protocol.secure), method, fields, body });
  await apply(() => ({}));
  const fill = (name: string) =>
    protocols
      .filter(({ fills }) => fills)
      .map((protocol) =>
        until(`a hit over ${protocol.name}`, async () => /cache-status: .*; hit/i.test((await visit(name, protocol)).head)),
      );
  await Promise.all(Object.keys(CASES).flatMap(fill));
  await apply((name) =>
    name === 'forwardAuth' ? { forward_auth: { upstreams: [upstream.address], uri: '/auth' } } : (CASES[name]?.route ?? {}),
  );
  for (const [name, { shows, rejects, explained, request = {}, applies = () => true, first = 0 }] of Object.entries(CASES)) {
    await t.test(name, async () => {
      const used = protocols.filter(applies);
      for (const protocol of used.filter(({ fills }) => fills)) for (let at = 0; at < first; at++) await visit(name, protocol, request);
      const requests = () => [false, true].map((secure) => upstream.requests.get(hostOf(name, secure)));
      const before = requests();
      for (const protocol of used) {
        const seen = await visit(name, protocol, request);
        try {
          shows(seen);
        } catch (error) {
          throw new Error(`${protocol.name}: ${seen.head}`, { cause: error });
        }
      }
      if (rejects) assert.deepEqual(requests(), before, 'the upstream has seen nothing');
      const { text } = await dataplane.admin('GET', `/explain?url=${encodeURIComponent(`http://${hostOf(name, false)}/page`)}`);
      const { verdict } = JSON.parse(text) as { verdict: string };
      assert.equal(/^answered by /.test(verdict), explained === 'answers', verdict);
    });
  }
});

const hostOf = (name: string, secure: boolean): string => `${secure ? 'secure' : 'plain'}-${name.toLowerCase()}.test`;
