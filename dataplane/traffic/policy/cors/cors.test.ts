import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { Http2Client } from '../../testing/http2/upstream.ts';
import { get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field, type Message } from '../../testing/wire.ts';

const HASH = '$2b$04$abcdefghijklmnopqrstuuGZ9YlYc0Y1vYV1cKzY8Wc2jYQ7mU7ga';
const open = (cors: object, more: object = {}): RouteInput => ({
  ...site('a.test'),
  respond: { status: 200, body: 'in' },
  cors: { origins: ['https://app.test', 'https://*.preview.test:8443'], ...cors },
  ...more,
});
const asking = (method: string, ...fields: string[]): string =>
  get('/')
    .replace('GET', method)
    .replace('\r\n\r\n', `\r\n${fields.map((line) => `${line}\r\n`).join('')}\r\n`);
const allowed = ({ head }: Message) => field(head, 'Access-Control-Allow-Origin');
const ALL = { origins: ['*'] };

test('a page of an allowed origin may read responses, and no page of another', async () => {
  using proxy = await ProxyFixture.start([open({})]);
  for (const origin of ['https://app.test', 'https://x.preview.test:8443']) {
    const answer = await proxy.request(asking('GET', `Origin: ${origin}`));
    assert.deepEqual([allowed(answer), field(answer.head, 'Vary')], [origin, 'Origin']);
  }
  for (const origin of [
    ...['http://app.test', 'https://app.test:444', 'https://app.test.evil.test', 'https://evilapp.test', 'null', 'HTTPS://APP.TEST', '*'],
    ...['https://preview.test:8443', 'https://a.b.preview.test:8443', 'https://.preview.test:8443', 'https://*.preview.test:8443'],
    ...['https://x@y.preview.test:8443', 'https://x/.preview.test:8443', 'https://x.preview.test:84430'],
  ]) {
    const answer = await proxy.request(asking('GET', `Origin: ${origin}`));
    assert.deepEqual([allowed(answer), field(answer.head, 'Vary')], [null, 'Origin'], origin);
  }
  assert.equal(field((await proxy.request(get())).head, 'Vary'), 'Origin', 'a shared cache must keep the two apart');
});

test('any origin gets the same response, and credentials and exposed headers are named', async () => {
  using proxy = await ProxyFixture.start([open(ALL), { ...open({ credentials: true, expose: ['X-A', 'X-B'] }), domain: 'b.test' }]);
  const any = await proxy.request(asking('GET', 'Origin: https://anyone.test'));
  assert.deepEqual([allowed(any), field(any.head, 'Vary')], ['*', null]);
  const named = await proxy.request(asking('GET', 'Origin: https://app.test').replace('a.test', 'b.test'));
  assert.equal(field(named.head, 'Access-Control-Allow-Credentials'), 'true');
  assert.equal(field(named.head, 'Access-Control-Expose-Headers'), 'X-A, X-B');
});

test('a wildcard can stand for several labels, and a scheme for all of its hosts, each of which is named with credentials', async () => {
  using proxy = await ProxyFixture.start([
    open({ origins: ['https://*.a.test'], wildcard: 'many' }),
    { ...open({ origins: ['https://*'], credentials: true }), domain: 'b.test' },
  ]);
  const seen = async (host: string, origin: string) =>
    allowed(await proxy.request(asking('GET', `Origin: ${origin}`).replace('a.test', host)));
  for (const origin of ['https://x.a.test', 'https://x.y.a.test']) assert.equal(await seen('a.test', origin), origin);
  for (const origin of [
    'https://a.test',
    'https://xa.test',
    'https://.a.test',
    'https://x..a.test',
    'https://x/.a.test',
    'https://x.a.test:1',
  ])
    assert.equal(await seen('a.test', origin), null, origin);
  for (const origin of ['https://x.test', 'https://x.y.test:8443', 'https://[2001:db8::1]:8443'])
    assert.equal(await seen('b.test', origin), origin);
  for (const origin of ['http://x.test', 'https://', 'https://*', 'https://x@y.test', 'https://x.test/', 'null'])
    assert.equal(await seen('b.test', origin), null, origin);
});

test('any method is allowed by its name', async () => {
  using proxy = await ProxyFixture.start([open({ methods: ['*'] })]);
  const asked = (method: string) =>
    proxy.request(asking('OPTIONS', 'Origin: https://app.test', `Access-Control-Request-Method: ${method}`));
  assert.equal(field((await asked('PURGE')).head, 'Access-Control-Allow-Methods'), 'PURGE');
  assert.match((await asked('a b')).line, / 403 /);
});

test('a preflight is answered before the password, and is rejected if it is not allowed', async () => {
  using upstream = await UpstreamFixture.serving(ok('app'));
  const more = { ...site('a.test', upstream), respond: null, basic_auth: { users: [{ name: 'bob', hash: HASH }] } };
  using proxy = await ProxyFixture.start([open({ methods: ['GET', 'PUT'], headers: ['X-One', 'X-Two'], max_age_secs: 60 }, more)]);
  const asked = (...fields: string[]) => proxy.request(asking('OPTIONS', 'Origin: https://app.test', ...fields));
  const good = await asked('Access-Control-Request-Method: PUT', 'Access-Control-Request-Headers: x-one,X-TWO');
  assert.match(good.line, / 204 /);
  assert.deepEqual(
    ['Allow-Origin', 'Allow-Methods', 'Allow-Headers', 'Max-Age'].map((name) => field(good.head, `Access-Control-${name}`)),
    ['https://app.test', 'GET, PUT', 'x-one, X-TWO', '60'],
  );
  assert.deepEqual(good.head.match(/^Vary: .*$/gm), [
    'Vary: Origin',
    'Vary: Access-Control-Request-Method, Access-Control-Request-Headers',
  ]);
  for (const fields of [
    ['Access-Control-Request-Method: DELETE'],
    ['Access-Control-Request-Method: put'],
    ['Access-Control-Request-Method: PUT', 'Access-Control-Request-Headers: x-three'],
    ['Access-Control-Request-Method: PUT', 'Access-Control-Request-Headers: x-one,,'],
    ['Access-Control-Request-Method: PUT', `Access-Control-Request-Headers: ${'x-one,'.repeat(1_000)}x-one`],
  ])
    assert.match((await asked(...fields)).line, / 403 /, fields.join());
  const stranger = await proxy.request(asking('OPTIONS', 'Origin: https://evil.test', 'Access-Control-Request-Method: GET'));
  assert.deepEqual([stranger.line.slice(9, 12), allowed(stranger)], ['403', null]);
  assert.match((await asked()).line, / 401 /, 'OPTIONS that is no preflight is a request like any other');
  assert.equal(upstream.requests.length, 0);
});

test('rejections by the proxy can be read by the page, too', async () => {
  const more = { rate_limit_rps: 1, basic_auth: { users: [{ name: 'bob', hash: HASH }] } };
  using proxy = await ProxyFixture.start([open({}, more)]);
  const status: string[] = [];
  for (let time = 0; time < 2; time++) {
    const answer = await proxy.request(asking('GET', 'Origin: https://app.test'));
    status.push(answer.line.slice(9, 12));
    assert.equal(allowed(answer), 'https://app.test');
  }
  assert.deepEqual(status, ['401', '429']);
});

test('the CORS fields of the upstream are replaced, and its Vary is kept', async () => {
  using upstream = await UpstreamFixture.serving(
    ok('app', 'Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Credentials: true\r\nVary: Accept, origin\r\nX-Kept: 1\r\n'),
  );
  using proxy = await ProxyFixture.start([{ ...open({}), ...site('a.test', upstream), respond: null }]);
  const own = await proxy.request(asking('GET', 'Origin: https://app.test'));
  assert.deepEqual(own.head.match(/^Access-Control.*$/gm), ['Access-Control-Allow-Origin: https://app.test']);
  assert.deepEqual(own.head.match(/^Vary: .*$/gm), ['Vary: Accept, origin']);
  assert.equal(field(own.head, 'X-Kept'), '1');
  using client = new Http2Client(proxy);
  const { head } = await client.request({ ':path': '/', origin: 'https://evil.test' });
  assert.equal(head['access-control-allow-origin'], undefined);
});

test('a block’s cors replaces its site’s, and null leaves it to the upstream', async () => {
  const respond = { status: 200, body: 'block' };
  using proxy = await ProxyFixture.start([
    open(
      {},
      {
        handles: [
          { path: '/any', cors: ALL, respond },
          { path: '/none', cors: null, respond },
        ],
      },
    ),
  ]);
  const at = async (path: string) =>
    allowed(await proxy.request(asking('GET', 'Origin: https://other.test').replace('GET /', `GET ${path}`)));
  assert.deepEqual([await at('/any'), await at('/none'), await at('/')], ['*', null, null]);
});
