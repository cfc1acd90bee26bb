import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { Http2Client } from '../../testing/http2/upstream.ts';
import { cachingProxy } from '../../testing/proxy/caching-proxy.ts';
import { get, type ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field, type Message } from '../../testing/wire.ts';

type Key = NonNullable<Exclude<RouteInput['cache'], boolean | string | null | undefined>> extends { key?: infer K } ? K : never;

const FRESH = 'Cache-Control: max-age=60\r\n';

/** Answers with the whole request. */
const echoing = (fields = FRESH): Promise<UpstreamFixture> =>
  UpstreamFixture.serving(({ line, head }: Message) => ok(`${line}\n${head}`, fields));

const caching = (upstream: UpstreamFixture, key: Key, more: Partial<RouteInput> = {}): Promise<ProxyFixture> =>
  cachingProxy({ ...site('a.test', upstream), cache: { key }, ...more });

const asking = (path: string, ...lines: string[]): string => get(path, lines.map((line) => `${line}\r\n`).join(''));

/** What the cache did with these requests, one after the other. */
async function results(proxy: ProxyFixture, ...requests: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const request of requests) {
    const status = field((await proxy.request(request)).head, 'Cache-Status') ?? '';
    found.push(status.includes('; hit') ? 'hit' : status.includes('; stored') ? 'stored' : 'passed');
  }
  return found;
}

test('ignored query parameters do not decide, and do not reach the upstream, so that none can affect the responses to others', async () => {
  using upstream = await echoing();
  using proxy = await caching(upstream, { ignore_query: ['utm_*'] });
  const first = await proxy.request(get('/a?utm_source=evil&id=1&utm%5Fid=evil'));
  assert.doesNotMatch(first.body, /evil/);
  assert.match(first.body, /^GET \/a\?id=1 HTTP/);
  assert.deepEqual(await results(proxy, get('/a?id=1'), get('/a?id=1&utm_x=2'), get('/a?id=2'), get('/a')), [
    'hit',
    'hit',
    'stored',
    'stored',
  ]);
  using client = new Http2Client(proxy);
  assert.equal((await client.request({ ':path': '/a?utm_source=other&id=1' })).body, first.body);
  assert.equal(upstream.requests.length, 3);
});

test('if only some query parameters decide, all others are removed', async () => {
  using upstream = await echoing();
  using proxy = await caching(upstream, { query: ['page'] });
  assert.deepEqual(await results(proxy, get('/a?x=1&page=2&y'), get('/a?page=2'), get('/a?page=3'), get('/a?z'), get('/a')), [
    'stored',
    'hit',
    'stored',
    'stored',
    'hit',
  ]);
  assert.deepEqual(
    upstream.requests.map(({ line }) => line.split(' ')[1]),
    ['/a?page=2', '/a?page=3', '/a'],
  );
});

test('parameters are also removed from a rewritten query, and the rest of it is in the key', async () => {
  using upstream = await echoing();
  using proxy = await caching(upstream, { ignore_query: ['utm_*'] }, { handles: [{ path: '/in/*', strip_prefix: true }] });
  assert.deepEqual(await results(proxy, get('/in/a?utm_a=1&b=2'), get('/in/a?b=2&utm_c'), get('/a?b=2')), ['stored', 'hit', 'stored']);
  assert.deepEqual(
    upstream.requests.map(({ line }) => line.split(' ')[1]),
    ['/a?b=2', '/a?b=2'],
  );
});

test('a header that is a part of the key decides as if the response named it in Vary', async () => {
  using upstream = await echoing();
  using proxy = await caching(upstream, { headers: ['X-Device', 'RSC'] });
  const phone = asking('/', 'x-device: phone');
  assert.deepEqual(await results(proxy, phone, get('/'), phone, asking('/', 'X-Device: desk'), get('/')), [
    'stored',
    'stored',
    'hit',
    'stored',
    'hit',
  ]);
  // Without being a part of the key, this field would bypass the cache.
  assert.deepEqual(await results(proxy, asking('/', 'RSC: 1'), asking('/', 'RSC: 1'), asking('/', 'X-Host: b')), [
    'stored',
    'hit',
    'passed',
  ]);
  assert.deepEqual(await results(proxy, asking('/', 'X-Device: 1', 'RSC: 2'), asking('/', 'X-Device: 1,2'), asking('/', 'RSC: 1,2')), [
    'stored',
    'stored',
    'stored',
  ]);
});

test('a request whose cookies are all in the key is stored and answered like one without cookies', async () => {
  using upstream = await echoing();
  using proxy = await caching(upstream, { cookies: ['currency', 'lang'] });
  const euro = asking('/', 'Cookie: currency=EUR');
  assert.deepEqual(await results(proxy, euro, get('/'), euro, asking('/', 'Cookie: lang=en; currency=EUR')), [
    'stored',
    'stored',
    'hit',
    'stored',
  ]);
  assert.deepEqual(
    await results(proxy, asking('/', 'Cookie: currency=EUR; lang=en'), asking('/', 'Cookie: currency=EUR', 'Cookie: lang=en')),
    ['hit', 'hit'],
  );
});

for (const cookie of [
  'currency=EUR; session=1',
  'session=1',
  'currency=EUR; currency',
  'Currency=EUR',
  'currency =EUR',
  '$Version=1; currency=EUR',
  '=EUR; currency=EUR',
])
  test(`a request with another cookie than those of the key neither fills the cache nor is answered from there: ${cookie}`, async () => {
    using upstream = await echoing();
    using proxy = await caching(upstream, { cookies: ['currency'] });
    const personal = asking('/', `Cookie: ${cookie}`);
    assert.deepEqual(await results(proxy, personal, asking('/', 'Cookie: currency=EUR')), ['passed', 'stored']);
    assert.deepEqual(await results(proxy, personal, personal), ['passed', 'passed']);
  });

test('of several cookies of one name all decide, because servers differ in which one they use', async () => {
  using upstream = await echoing();
  using proxy = await caching(upstream, { cookies: ['currency'] });
  const both = asking('/', 'Cookie: currency=EUR; currency=USD');
  const turned = asking('/', 'Cookie: currency=USD; currency=EUR');
  const plain = ['EUR', 'USD'].map((name) => asking('/', `Cookie: currency=${name}`));
  assert.deepEqual(await results(proxy, both, turned, ...plain), ['stored', 'stored', 'stored', 'stored']);
});

test('even a response for all is one for each value of the key', async () => {
  using upstream = await echoing('Cache-Control: public, max-age=60\r\n');
  using proxy = await caching(upstream, { cookies: ['currency'] });
  const asked = ['a=1; currency=EUR', 'b=1; currency=EUR', 'b=1; currency=USD'].map((cookie) => asking('/', `Cookie: ${cookie}`));
  assert.deepEqual(await results(proxy, ...asked), ['stored', 'hit', 'stored']);
});

test('after a swap nothing is found under the key of another rule', async () => {
  using upstream = await echoing();
  const route = (key: Key): RouteInput => ({ ...site('a.test', upstream), cache: { key } });
  using proxy = await cachingProxy(route({ headers: ['X-A'] }));
  const request = asking('/', 'X-A: 1', 'X-B: 1');
  assert.deepEqual(await results(proxy, request, request), ['stored', 'hit']);
  await proxy.publish([route({ headers: ['X-B'] })]);
  assert.deepEqual(await results(proxy, request), ['stored']);
  await proxy.publish([route({ cookies: ['X-B'] })]);
  assert.deepEqual(await results(proxy, request), ['stored']);
});

test('a request with an unsafe method invalidates all entries of its URL, also if the key ignores parameters', async () => {
  using upstream = await UpstreamFixture.serving(({ line }: Message) =>
    ok('x', line.startsWith('POST') ? 'Location: /b?utm_x=1\r\n' : FRESH),
  );
  using proxy = await caching(upstream, { ignore_query: ['utm_*'] });
  assert.deepEqual(await results(proxy, get('/a?utm_y=1'), get('/b'), get('/c')), ['stored', 'stored', 'stored']);
  await proxy.request('POST /a?utm_z=2 HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n');
  assert.deepEqual(await results(proxy, get('/a'), get('/b?utm_q'), get('/c')), ['stored', 'stored', 'hit']);
});
