import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2';
import { after, before, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { makePair } from '../../../shared/certificates/testing/pairs.ts';
import type { RouteInput } from '../../../shared/route.ts';
import { freePorts } from '../testing/free-ports.ts';
import { get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field, Wire } from '../testing/wire.ts';

const [http, otherHttp, https, otherHttps] = await freePorts(4);
const authority = await makePair([], { subject: 'CN=servers', authority: true });
const staff = await makePair([], { subject: 'CN=staff', authority: true });
const NAMES = ['a.test', '*.a.test', 'x.a.test', 'deep.x.a.test'];
const shown = await makePair(NAMES, { signer: authority.signs });

const saying = (domain: string, body: string, more: Partial<RouteInput> = {}): RouteInput => ({
  ...{ domain, upstream: null, tls: false, https: 'off', respond: { status: 200, body } },
  ...more,
});

let proxy: ProxyFixture;
before(async () => {
  proxy = await ProxyFixture.with(
    [
      saying('a.test', 'everywhere'),
      saying('x.a.test', 'on the other ports', { ports: [otherHttp, otherHttps] }),
      saying('*.a.test', 'wildcard', { ports: [https, otherHttps], wildcard: 'many' }),
      saying('internal.test', 'internal', { ports: [otherHttps], client_auth: { ca: staff.certificate }, https: 'provided' }),
      saying('redirected.test', 'redirected', { ports: [otherHttp, otherHttps], https: 'provided' }),
      saying('usual.test', 'usual', { https: 'provided' }),
      saying('*.many.test', 'many', { wildcard: 'many', https: 'provided' }),
      saying('plain.test', 'plain', { ports: [http], https: 'provided' }),
    ],
    {
      ...{ httpPort: http, otherHttpPorts: [otherHttp], httpsPort: https, otherHttpsPorts: [otherHttps] },
      https: { automatic: false, anyName: false, dns: false, internal: false, local: false, publicPort: 443 },
    },
  );
  await proxy.certify({ domains: NAMES, certificate: shown.certificate, private_key: shown.privateKey });
});
after(() => proxy[Symbol.dispose]());

const overHttp = (port: number, host: string, path = '/') => proxy.request(get(path).replace('a.test', host), port);
const statusOf = ({ line }: { readonly line: string }): number => Number(line.split(' ')[1]);
const bodyOrStatus = async (port: number, host: string): Promise<string> => {
  const answer = await overHttp(port, host);
  return statusOf(answer) === 200 ? answer.body : `${statusOf(answer)}`;
};

/** The response to a client over TLS, or the alert that ended its handshake. */
async function toldSecurely(port: number, host: string, servername = host): Promise<string> {
  const socket = connectTls({ host: '127.0.0.1', port, servername, ca: authority.certificate });
  try {
    await once(socket, 'secureConnect');
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code);
  }
  const wire = new Wire(socket);
  wire.send(get().replace('a.test', host));
  const answer = await wire.readAnswer();
  socket.destroy();
  return statusOf(answer) === 200 ? answer.body : `${statusOf(answer)}`;
}

async function toldOverHttp2(port: number, host: string, authority2 = host): Promise<string> {
  const session = connectHttp2(`https://${host}:${port}`, { ca: authority.certificate, host: '127.0.0.1' });
  session.on('error', () => undefined);
  const stream = session.request({ ':path': '/', ':authority': authority2 });
  const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }];
  let body = '';
  stream.setEncoding('utf8').on('data', (piece: string) => {
    body += piece;
  });
  await once(stream, 'end');
  session.destroy();
  return headers[':status'] === 200 ? body : `${headers[':status']}`;
}

const UNRECOGNIZED = 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME';

test('a route for some ports is found on these, and on others the next less specific one, or none', async () => {
  assert.deepEqual(await Promise.all([http, otherHttp].map((port) => bodyOrStatus(port, 'a.test'))), ['everywhere', 'everywhere']);
  assert.deepEqual(await Promise.all([http, otherHttp].map((port) => bodyOrStatus(port, 'x.a.test'))), ['404', 'on the other ports']);
  assert.equal(await bodyOrStatus(http, 'y.a.test'), '404');
  for (const secure of [toldSecurely, toldOverHttp2]) {
    assert.equal(await secure(https, 'x.a.test'), 'wildcard');
    assert.equal(await secure(otherHttps, 'x.a.test'), 'on the other ports');
    assert.equal(await secure(otherHttps, 'deep.x.a.test'), 'wildcard');
  }
});

test('a port in Host, in the authority or in the target changes nothing', async () => {
  assert.equal(statusOf(await overHttp(http, `x.a.test:${otherHttp}`)), 404);
  assert.equal((await overHttp(otherHttp, `x.a.test:${http}`)).body, 'on the other ports');
  const absolute = `GET http://x.a.test:${otherHttp}/ HTTP/1.1\r\nHost: x.a.test:${otherHttp}\r\n\r\n`;
  assert.equal(statusOf(await proxy.request(absolute, http)), 404);
  assert.equal(await toldSecurely(https, `x.a.test:${otherHttps}`, 'x.a.test'), 'wildcard');
  assert.equal(await toldOverHttp2(https, 'x.a.test', `x.a.test:${otherHttps}`), 'wildcard');
  assert.equal(await toldOverHttp2(otherHttps, 'x.a.test', `x.a.test:${https}`), 'on the other ports');
});

test('on a port where a name is not served, its handshake is refused as for an unknown name', async () => {
  await proxy.certify({ domains: ['internal.test'], certificate: shown.certificate, private_key: shown.privateKey });
  assert.equal(await toldSecurely(https, 'internal.test'), UNRECOGNIZED);
  assert.equal(await toldSecurely(https, 'unknown.test'), UNRECOGNIZED);
});

test('HTTP is redirected to the HTTPS port that serves the site: the public one, one of its own, or none', async () => {
  const target = async (port: number, host: string) => field((await overHttp(port, host, '/x?y')).head, 'Location');
  assert.equal(await target(http, 'usual.test'), 'https://usual.test/x?y');
  assert.equal(await target(otherHttp, 'usual.test'), 'https://usual.test/x?y');
  assert.equal(await target(otherHttp, 'redirected.test'), `https://redirected.test:${otherHttps}/x?y`);
  assert.equal(await bodyOrStatus(http, 'plain.test'), 'plain');
  assert.equal(statusOf(await overHttp(http, 'redirected.test')), 404);
});

test('below a wildcard for several labels, only hosts that its certificate can cover are redirected', async () => {
  assert.equal(statusOf(await overHttp(http, 'x.many.test')), 308);
  assert.equal(await bodyOrStatus(http, 'y.x.many.test'), 'many');
  await proxy.certify({ domains: ['y.x.many.test'], certificate: shown.certificate, private_key: shown.privateKey, provided: true });
  assert.equal(statusOf(await overHttp(http, 'y.x.many.test')), 308);
});

test('requests for tokens of the upstream’s own ACME client are not redirected, and nothing else escapes the redirect', async () => {
  const status = async (path: string, method = 'GET') => {
    const answer = await proxy.request(get(path).replace('a.test', 'usual.test').replace('GET', method), http);
    return statusOf(answer);
  };
  assert.equal(await status('/.well-known/acme-challenge/a-Token_1'), 200);
  assert.equal(await status('/.well-known/acme-challenge/a-Token_1', 'HEAD'), 200);
  for (const path of [
    '/.well-known/acme-challenge/',
    '/.well-known/acme-challenge',
    '/.well-known/acme-challenge/a/b',
    '/.well-known/acme-challenge/../x',
    '/.well-known/acme-challenge/%2e%2e',
    '/.well-known/acme-challenge/a?b',
    '/.well-known//acme-challenge/a',
    '/x/.well-known/acme-challenge/a',
    `/.well-known/acme-challenge/${'a'.repeat(129)}`,
  ])
    assert.equal(await status(path), 308, path);
  assert.equal(await status('/.well-known/acme-challenge/a', 'POST'), 308);
});

test('a dry run says on which ports a host is served', () => {
  assert.equal(
    proxy.dryRun(`http://x.a.test:${http}/`).verdict,
    `404: x.a.test is not served on port ${http}, only on ${otherHttp}, ${otherHttps}`,
  );
  const served = proxy.dryRun(`https://x.a.test:${otherHttps}/`);
  assert.deepEqual([served.matched, served.port, served.routed], ['x.a.test', otherHttps, true]);
  assert.equal(proxy.dryRun(`https://deep.x.a.test:${https}/`).matched, '*.a.test');
});

test('the cache keeps responses of a host apart whose ports have different routes or blocks', async () => {
  using one = await UpstreamFixture.serving(ok('one', 'Cache-Control: max-age=60\r\n'));
  using two = await UpstreamFixture.serving(ok('two', 'Cache-Control: max-age=60\r\n'));
  using three = await UpstreamFixture.serving(ok('three', 'Cache-Control: max-age=60\r\n'));
  const [first, second, third] = await freePorts(3);
  using caching = await ProxyFixture.with(
    [
      { ...site('x.a.test', one), cache: {}, ports: [first] },
      { ...site('*.a.test', two), cache: {}, handles: [{ path: null, match: { port: [third] }, upstreams: [{ address: three.address }] }] },
    ],
    { httpPort: first, otherHttpPorts: [second, third], cacheSize: 10_000_000 },
    {
      onCache: (message, worker) => {
        if (message.kind === 'look-up')
          worker.handle({ kind: 'cache', message: { kind: 'found', key: message.key, entries: [], purged: 0 } });
      },
    },
  );
  for (const round of ['filled', 'hit'])
    for (const [port, body] of [
      [first, 'one'],
      [second, 'two'],
      [third, 'three'],
    ] as const) {
      const answer = await caching.request(get('/same').replace('a.test', 'x.a.test'), port);
      assert.equal(answer.body, body);
      assert.match(field(answer.head, 'Cache-Status') ?? '', round === 'hit' ? /; hit/ : /stored/);
    }
});
