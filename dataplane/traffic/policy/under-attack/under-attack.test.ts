import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { Http2Client } from '../../testing/http2/upstream.ts';
import { get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';
import { leadingZeros } from './clearance.ts';

const attacked = (more: object = {}): RouteInput => ({
  ...site('a.test'),
  respond: { status: 200, body: 'in' },
  under_attack: true,
  challenge: { difficulty: 8 },
  ...more,
});
const HTML = 'Accept: text/html,application/xhtml+xml\r\n';

/** The cookie that the script of a page would set. */
async function solution(proxy: ProxyFixture, fields = '', host = 'a.test'): Promise<string> {
  const { line, head, body } = await proxy.request(get('/.sluice/challenge', fields).replace('a.test', host));
  assert.deepEqual([line.slice(9, 12), field(head, 'Content-Type'), field(head, 'Cache-Control')], ['200', 'application/json', 'no-store']);
  const { token, bits, max_age } = JSON.parse(body);
  assert.equal(max_age, 3_600);
  for (let number = 0; ; number++)
    if (leadingZeros(hash('sha256', `${token}.${number}`, 'buffer')) >= bits) return `Cookie: a=b; sluice_clearance=${token}.${number}\r\n`;
}

test('a browser gets a page to solve, and with its solution the site, over HTTP/1.1 and HTTP/2', async () => {
  using upstream = await UpstreamFixture.serving(ok('app'));
  using proxy = await ProxyFixture.start([{ ...attacked(), ...site('a.test', upstream), respond: null }]);
  const page = await proxy.request(get('/x', HTML));
  assert.match(page.line, / 503 /);
  assert.equal(field(page.head, 'Cache-Control'), 'no-store');
  assert.match(field(page.head, 'Content-Security-Policy') ?? '', /^default-src 'none'; script-src 'self'; connect-src 'self'; /);
  const [, script = ''] = /src="([^"]+)"/.exec(page.body) ?? [];
  assert.doesNotMatch(page.body.replace(`src="${script}"`, ''), /https?:\/\/|src=|href=/, 'no outside resource');
  assert.match(script, /^\/\.sluice\/challenge\.js\?/);
  const { line, head, body } = await proxy.request(get(script));
  assert.deepEqual([line.slice(9, 12), field(head, 'Content-Type')], ['200', 'text/javascript; charset=utf-8']);
  assert.doesNotMatch(body, /https?:\/\//);
  for (const path of [script, '/.sluice/challenge']) {
    const post = get(path).replace('GET', 'POST').replace('\r\n\r\n', '\r\nContent-Length: 0\r\n\r\n');
    assert.match((await proxy.request(post)).line, / 405 /);
  }
  const cookie = await solution(proxy);
  assert.equal((await proxy.request(get('/x', HTML + cookie))).body, 'app');
  assert.equal((await proxy.request(get('/x', cookie))).body, 'app', 'scripts of the page, too');
  using client = new Http2Client(proxy);
  assert.equal((await client.request({ ':path': '/', accept: 'text/html' })).status, 503);
  assert.equal((await client.request({ ':path': '/', cookie: cookie.slice(8, -2) })).body, 'app');
  assert.equal(upstream.requests.length, 3);
});

test('a client that can’t show a page gets 503 and a header that says why', async () => {
  using proxy = await ProxyFixture.start([attacked()]);
  for (const request of [
    get(),
    get('/', 'Accept: application/json\r\n'),
    get('/', HTML).replace('GET', 'POST').replace('\r\n\r\n', '\r\nContent-Length: 0\r\n\r\n'),
  ]) {
    const { line, head, body } = await proxy.request(request);
    assert.deepEqual([line.slice(9, 12), field(head, 'Sluice-Challenge'), field(head, 'Retry-After')], ['503', 'required', '60']);
    assert.doesNotMatch(body, /<script/);
  }
});

test('headers of the site change neither the page, which could not run its script then, nor how long it is stored', async () => {
  const policy = { name: 'Content-Security-Policy', value: "default-src 'none'" };
  const long = { name: 'Cache-Control', value: 'public, max-age=3600' };
  for (const headers of [
    [policy, long],
    [{ ...policy, op: 'add' as const }, long],
    [policy, long].map((header) => ({ ...header, deferred: true as const })),
  ]) {
    using proxy = await ProxyFixture.start([attacked({ headers })]);
    for (const accept of [HTML, 'Accept: */*\r\n']) {
      const { head } = await proxy.request(get('/', accept));
      assert.equal(field(head, 'Cache-Control'), 'no-store');
      assert.equal(field(head, 'X-Content-Type-Options'), 'nosniff');
      assert.deepEqual(
        head.match(/^Content-Security-Policy: .*/gim)?.map((line) => line.includes("script-src 'self'")),
        accept === HTML ? [true] : undefined,
      );
    }
  }
});

test('a clearance belongs to its client and its site, and expires', async () => {
  using proxy = await ProxyFixture.start([attacked(), { ...attacked(), domain: 'b.test' }], ['127.0.0.1/32']);
  const from = (address: string, cookie = '', host = 'a.test') =>
    proxy.request(get('/', `${HTML}${cookie}X-Forwarded-For: ${address}\r\n`).replace('a.test', host));
  const cookie = await solution(proxy, 'X-Forwarded-For: 2001:db8::1\r\n');
  assert.equal((await from('2001:db8::1', cookie)).body, 'in');
  assert.equal((await from('2001:db8::2', cookie)).body, 'in', 'the same /64');
  assert.match((await from('2001:db8:1::1', cookie)).line, / 503 /);
  assert.match((await from('2001:db8::1', cookie, 'b.test')).line, / 503 /);
  proxy.clock.pass(3_601_000);
  assert.match((await from('2001:db8::1', cookie)).line, / 503 /);
});

test('cookies of the same name from a neighbour below the same domain do not keep a browser out', async () => {
  using proxy = await ProxyFixture.start([attacked()]);
  const cookie = await solution(proxy);
  const beside = (count: number): string =>
    cookie.replace(
      'a=b',
      Array(count)
        .fill(`sluice_clearance=${'A'.repeat(28)}.1`)
        .join('; '),
    );
  for (const count of [1, 3]) assert.equal((await proxy.request(get('/', HTML + beside(count)))).body, 'in');
  assert.match((await proxy.request(get('/', HTML + beside(4)))).line, / 503 /, 'few are tried: each may cost a signature');
});

test('exceptions are let in, and a path that may be one to another server is refused', async () => {
  const except = [{ path: ['/api/*'] }, { header: [{ name: 'X-Key', values: ['k'] }] }];
  using proxy = await ProxyFixture.start([attacked({ challenge: { difficulty: 8, except } })]);
  const status = async (path: string, fields = '') => (await proxy.request(get(path, fields))).line.slice(9, 12);
  assert.deepEqual([await status('/api/x'), await status('/', 'X-Key: k\r\n'), await status('/')], ['200', '200', '503']);
  assert.equal(await status('/x/..%2fapi/y'), '400');
});

test('it begins automatically above its threshold, and ends after minutes below it', async () => {
  using proxy = await ProxyFixture.start([attacked({ under_attack: false, challenge: { difficulty: 8, auto_rps: 5 } })]);
  const burst = async (count: number) => {
    const client = await proxy.connect();
    client.send(get('/', HTML).repeat(count));
    let inside = 0;
    for (let nth = 0; nth < count; nth++) if ((await client.readAnswer()).line.includes(' 200 ')) inside++;
    return inside;
  };
  assert.equal(await burst(5), 5);
  proxy.clock.pass(2_000);
  assert.equal(await burst(8), 5, 'the sixth in a second begins it');
  proxy.clock.pass(30_000);
  assert.equal(await burst(1), 0, 'it lasts');
  proxy.clock.pass(150_000);
  assert.equal(await burst(5), 5, 'it has ended');
});

test('a site without it is not affected, and the beacon of an attacked site is not challenged', async () => {
  using proxy = await ProxyFixture.start([attacked({ analytics: {} }), { ...site('b.test'), respond: { status: 200, body: 'b' } }]);
  assert.equal((await proxy.request(get('/', HTML).replace('a.test', 'b.test'))).body, 'b');
  assert.match((await proxy.request(get('/.sluice/vitals.js'))).line, / 200 /);
  assert.match((await proxy.request(get('/.sluice/challenge.js'))).line, / 200 /);
  for (const path of ['/.sluice/challenge.js', '/.sluice/challenge'])
    assert.match((await proxy.request(get(path).replace('a.test', 'b.test'))).line, / 404 /);
});

const GOOGLEBOT = 'User-Agent: Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)\r\n';

test('a search engine is let in once its address is verified, and only that address', async () => {
  using proxy = await ProxyFixture.start([attacked()], ['127.0.0.1/32']);
  const status = async (address: string, fields = GOOGLEBOT) =>
    (await proxy.request(get('/', `${HTML}X-Forwarded-For: ${address}\r\n${fields}`))).line.slice(9, 12);
  const claims = () => proxy.messages.flatMap((message) => (message.kind === 'bot-claimed' ? [message.claim] : []));
  for (let time = 0; time < 3; time++) assert.equal(await status('66.249.66.1'), '503');
  assert.deepEqual(claims(), [{ bot: 'googlebot', address: '66.249.66.1' }], 'it is looked up once');
  const until = proxy.clock.now() + 60_000;
  proxy.learn({ bot: 'googlebot', address: '66.249.66.1', verified: true, until });
  proxy.learn({ bot: 'googlebot', address: '192.0.2.1', verified: false, until });
  assert.equal(await status('66.249.66.1'), '200');
  assert.equal(await status('66.249.66.1', 'User-Agent: Bingbot\r\n'), '503', 'another search engine');
  assert.equal(await status('66.249.66.1', 'User-Agent: Firefox\r\n'), '503');
  assert.equal(await status('192.0.2.1'), '503');
  proxy.clock.pass(60_000);
  assert.equal(await status('66.249.66.1'), '503', 'the result has expired');
});

test('a flood that claims to be a search engine has few addresses looked up, and sites can exclude all or some', async () => {
  const only = { ...attacked({ challenge: { difficulty: 8, bots: ['bingbot'] } }), domain: 'b.test' };
  const none = { ...attacked({ challenge: { difficulty: 8, bots: [] } }), domain: 'c.test' };
  using proxy = await ProxyFixture.start([attacked(), only, none], ['127.0.0.1/32']);
  const claims = () => proxy.messages.filter(({ kind }) => kind === 'bot-claimed').length;
  const flood = async (host: string) => {
    const client = await proxy.connect();
    client.send(
      Array.from({ length: 200 }, (_, nth) =>
        get('/', `${HTML}X-Forwarded-For: 198.18.0.${nth}\r\n${GOOGLEBOT}`).replace('a.test', host),
      ).join(''),
    );
    for (let nth = 0; nth < 200; nth++) assert.match((await client.readAnswer()).line, / 503 /);
  };
  await flood('b.test');
  await flood('c.test');
  assert.equal(claims(), 0);
  await flood('a.test');
  assert.equal(claims(), 20);
  proxy.clock.pass(1_000);
  await flood('a.test');
  assert.equal(claims(), 40);
});
