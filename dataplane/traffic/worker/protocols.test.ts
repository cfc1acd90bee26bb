import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { hashSync } from 'bcrypt';
import { makePair } from '../../../shared/certificates/testing/pairs.ts';
import type { RouteInput } from '../../../shared/route.ts';
import { Http2UpstreamFixture } from '../testing/http2/upstream.ts';
import { SecureFixture } from '../testing/proxy/secure-proxy.ts';
import { site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field, Wire } from '../testing/wire.ts';

type Fields = Readonly<Record<string, string>>;
type ReceivedRequest = { readonly host?: string; readonly path: string; readonly fields?: Fields };
type Answer = { readonly status: number; field(name: string): string | null };

/** One way for a request to arrive. */
type Protocol = { readonly name: string; readonly secure: boolean; request(asked: ReceivedRequest): Promise<Answer> };

let upstream: UpstreamFixture;
let http2Upstream: Http2UpstreamFixture;
let secure: SecureFixture;

/** A site with every policy, each on its own path. */
const everything = (target: { readonly address: string }): RouteInput => ({
  ...site('a.test', target),
  headers: [
    { name: 'X-Site', value: 'yes' },
    { name: 'X-Target', value: null },
  ],
  redirects: [{ from: '/moved', to: '/new', status: 308 }],
  handles: [
    { path: '/limited*', rate_limit_rps: 1 },
    { path: '/private/*', basic_auth: { users: [{ name: 'bob', hash: hashSync('secret', 4) }] } },
    { path: '/fixed', respond: { status: 418, body: 'tea' } },
  ],
});

before(async () => {
  upstream = await UpstreamFixture.serving(ok('x', 'X-Target: 1\r\n'));
  const { certificate } = await makePair([], { subject: 'CN=staff', authority: true });
  const staff = { ...everything(upstream), domain: 'staff.test', client_auth: { ca: certificate } };
  http2Upstream = await Http2UpstreamFixture.serving((asked) => {
    asked.stream.respond({ ':status': 200, 'x-target': '1' });
    asked.stream.end('x');
  });
  const modern = { ...everything(http2Upstream), domain: 'h2c.test', transport: { protocol: 'h2c' as const } };
  const routes = [everything(upstream), site('b.test', upstream), staff, modern];
  secure = await SecureFixture.of(routes, 'gone.test', 'staff.test', 'h2c.test');
  await secure.proxy.challenge([{ token: 'token-of-a-challenge', keyAuthorization: 'key-authorization' }]);
});
after(() => {
  secure[Symbol.dispose]();
  upstream[Symbol.dispose]();
  http2Upstream[Symbol.dispose]();
});

/** HTTP/1.1 on a new connection, with or without TLS, with additional field lines. */
function http1(name: string, overTls: boolean, more: string): Protocol {
  return {
    name,
    secure: overTls,
    async request({ host = 'a.test', path, fields = {} }) {
      const wire = overTls ? await overTlsTo(secure.proxy.securePort) : await Wire.to(secure.proxy.port);
      const lines = Object.entries(fields).map(([field, value]) => `${field}: ${value}\r\n`);
      wire.send(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${lines.join('')}${more}\r\n`);
      const head = await wire.readHead();
      wire.socket.destroy();
      return { status: Number(head.slice(9, 12)), field: (name) => field(head, name) };
    },
  };
}

async function overTlsTo(port: number): Promise<Wire> {
  const socket = connectTls({ host: '127.0.0.1', port, servername: 'a.test', ca: secure.ca });
  await once(socket, 'secureConnect');
  return new Wire(socket);
}

function http2(name: string, overTls: boolean, more: Fields = {}): Protocol {
  return {
    name,
    secure: overTls,
    async request({ host = 'a.test', path, fields = {} }) {
      const { proxy, ca } = secure;
      const session = overTls
        ? connectHttp2(`https://a.test:${proxy.securePort}`, { ca, host: '127.0.0.1' })
        : connectHttp2(`http://127.0.0.1:${proxy.port}`);
      if (':protocol' in more) await once(session, 'remoteSettings');
      const stream = session.request({ ':path': path, ':authority': host, ...fields, ...more });
      const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }];
      session.destroy();
      return { status: headers[':status'] ?? 0, field: (name) => headers[name.toLowerCase()]?.toString() ?? null };
    },
  };
}

/** A WebSocket over HTTP/2 (RFC 8441). A success status that is not an accepted upgrade arrives as 501 there. */
function extendedConnect(name: string, overTls: boolean): Protocol {
  const { request } = http2(name, overTls, { ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': overTls ? 'https' : 'http' });
  return {
    name,
    secure: overTls,
    async request(asked) {
      const { status, field } = await request(asked);
      return { status: status === 501 ? 200 : status, field };
    },
  };
}

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
const protocols: readonly Protocol[] = [
  http1('HTTP/1.1', false, ''),
  http1('an upgrade', false, UPGRADE),
  http1('HTTP/1.1 over TLS', true, ''),
  http1('an upgrade over TLS', true, UPGRADE),
  http2('HTTP/2 over TLS', true),
  http2('HTTP/2 by prior knowledge', false),
  extendedConnect('a WebSocket over HTTP/2 and TLS', true),
  extendedConnect('a WebSocket over HTTP/2 by prior knowledge', false),
];

const bob = (password: string): Fields => ({ authorization: `Basic ${Buffer.from(`bob:${password}`).toString('base64')}` });

/** The expected status of each request. `reaches`: whether it reaches the upstream. */
const rows: readonly (readonly [
  what: string,
  asked: ReceivedRequest,
  status: number,
  field: readonly [string, string | RegExp | null],
  reaches: boolean,
])[] = [
  ['a request that no policy forbids', { path: '/' }, 200, ['x-site', 'yes'], true],
  ['a field that the site removes', { path: '/' }, 200, ['x-target', null], true],
  ['a default field', { path: '/' }, 200, ['x-frame-options', 'SAMEORIGIN'], true],
  ['a redirect', { path: '/moved' }, 308, ['location', '/new'], false],
  ['a private page', { path: '/private/x' }, 401, ['www-authenticate', /^Basic /], false],
  ['a private page in another spelling', { path: '/%70rivate/./x' }, 401, ['www-authenticate', /^Basic /], false],
  ['a private page with a wrong password', { path: '/private/x', fields: bob('guess') }, 401, ['x-site', 'yes'], false],
  ['a private page with its password', { path: '/private/x', fields: bob('secret') }, 200, ['x-site', 'yes'], true],
  ['a path that might be private', { path: '/x/..%2fprivate/x' }, 400, ['x-site', 'yes'], false],
  ['a fixed answer', { path: '/fixed' }, 418, ['x-site', 'yes'], false],
  ['a host without a route', { host: 'gone.test', path: '/' }, 404, ['x-site', null], false],
  ['a host that may get a route', { host: 'gone.test', path: '/' }, 404, ['cache-control', 'no-store'], false],
  ['a challenge', { path: '/.well-known/acme-challenge/token-of-a-challenge' }, 200, ['x-site', null], false],
];

for (const protocol of protocols) {
  describe(`${protocol.name} bypasses nothing:`, () => {
    for (const [what, asked, status, [name, value], reaches] of rows) {
      test(what, async () => {
        const before = upstream.requests.length;
        const answer = await protocol.request(asked);
        assert.equal(answer.status, status);
        if (value instanceof RegExp) assert.match(answer.field(name) ?? '', value);
        else assert.equal(answer.field(name), value);
        assert.equal(upstream.requests.length - before, reaches ? 1 : 0);
      });
    }

    test('the rate limit, which all protocols share', async () => {
      secure.proxy.clock.pass(2_000);
      assert.equal((await protocol.request({ path: '/limited' })).status, 200);
      for (const other of protocols) {
        const answer = await other.request({ path: '/limited' });
        assert.deepEqual([answer.status, answer.field('retry-after')], [429, '1'], other.name);
      }
    });

    test('a host that the certificate does not cover', async () => {
      const { status } = await protocol.request({ host: 'b.test', path: '/' });
      assert.equal(status, protocol.secure ? 421 : 200);
    });

    test('a site that requires client certificates', async () => {
      const before = upstream.requests.length;
      for (const path of ['/', '/fixed', '/moved', '/private/x'])
        assert.equal((await protocol.request({ host: 'staff.test', path })).status, protocol.secure ? 421 : 403, path);
      assert.equal(upstream.requests.length, before);
    });

    test('forged fields about the client', async () => {
      const claims = {
        'x-forwarded-for': '10.1.1.1',
        'x-forwarded-proto': 'gopher',
        'x-real-ip': '10.1.1.1',
        forwarded: 'for=10.1.1.1',
        proxy: 'evil',
      };
      await protocol.request({ path: '/', fields: claims });
      const head = upstream.requests.at(-1)?.head ?? '';
      assert.equal(field(head, 'X-Forwarded-For'), '127.0.0.1');
      assert.equal(field(head, 'X-Real-IP'), '127.0.0.1');
      assert.equal(field(head, 'X-Forwarded-Proto'), protocol.secure ? 'https' : 'http');
      assert.deepEqual([field(head, 'Forwarded'), field(head, 'Proxy')], [null, null]);
    });

    test('an HTTP/2 upstream receives the same request, and its response obeys the same rules', async () => {
      const before = http2Upstream.requests.length;
      const fields = { 'x-forwarded-for': '10.1.1.1', forwarded: 'for=10.1.1.1' };
      const answer = await protocol.request({ host: 'h2c.test', path: '/', fields });
      assert.deepEqual([answer.status, answer.field('x-site'), answer.field('x-target')], [200, 'yes', null]);
      assert.equal(http2Upstream.requests.length, before + 1);
      const asked = http2Upstream.requests.at(-1);
      assert.deepEqual(
        [':method', 'x-forwarded-for', 'x-forwarded-proto', 'forwarded', 'upgrade'].map((name) => asked?.field(name)),
        ['GET', '127.0.0.1', protocol.secure ? 'https' : 'http', null, null],
      );
      assert.equal((await protocol.request({ host: 'h2c.test', path: '/private/x' })).status, 401);
      assert.equal(http2Upstream.requests.length, before + 1);
    });

    test('HSTS is sent over secure connections only', async () => {
      const { field } = await protocol.request({ path: '/' });
      assert.equal(field('strict-transport-security'), protocol.secure ? 'max-age=31536000' : null);
    });
  });
}
