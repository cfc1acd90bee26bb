import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Http2Client } from '../testing/http2/upstream.ts';
import { get, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

const MINUTE = 60_000;
const cookies = (count: number) => Array.from({ length: count }, (_, at) => `c${at}=${'v'.repeat(20)}`);
const fields = (count: number) => Array.from({ length: count }, (_, at) => [`x-${at}`, 'y'] as const);
const asLines = (count: number) =>
  fields(count)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
/** Fields that every request of these tests has: Host over HTTP/1.1, the four pseudo-header fields over HTTP/2. */
const HOST = 1;
const MAX = 300;

test('hundreds of cookies that a browser sends as separate fields reach the upstream as one field', async () => {
  using upstream = await UpstreamFixture.serving(ok('eaten'));
  using proxy = await ProxyFixture.before(upstream);
  using client = new Http2Client(proxy);
  for (const count of [84, 170, 400]) {
    const answer = await client.request({ ':path': '/', cookie: cookies(count) });
    assert.deepEqual([answer.status, answer.body], [200, 'eaten'], `${count} cookies`);
    assert.ok(upstream.requests.at(-1)?.head.includes(`\r\ncookie: ${cookies(count).join('; ')}\r\n`));
  }
});

test('accepts 300 fields over HTTP/1.1 and HTTP/2, and answers one more with 431', async () => {
  using upstream = await UpstreamFixture.serving(ok('taken'));
  using proxy = await ProxyFixture.before(upstream);
  using client = new Http2Client(proxy);
  assert.equal((await proxy.request(get('/', asLines(MAX - HOST)))).body, 'taken');
  assert.equal((await client.request(Object.fromEntries(fields(MAX - HOST)))).body, 'taken');
  assert.match((await proxy.request(get('/', asLines(MAX)))).line, / 431 /);
  assert.equal((await client.request(Object.fromEntries(fields(MAX)))).status, 431);
});

test('a head that is too large is answered with 431 over HTTP/2 too, and the connection stays open', async () => {
  using upstream = await UpstreamFixture.serving(ok('taken'));
  using proxy = await ProxyFixture.before(upstream);
  using client = new Http2Client(proxy);
  assert.equal((await client.request({ cookie: cookies(700) })).status, 431);
  assert.equal((await client.request({ 'x-long': 'x'.repeat(40_000) })).status, 431);
  assert.equal((await client.request({})).status, 200);
});

test('heads refused for their size are logged once a minute with their number', async () => {
  using upstream = await UpstreamFixture.serving(ok('taken'));
  using proxy = await ProxyFixture.before(upstream);
  using client = new Http2Client(proxy);
  const lines = () => proxy.log.lines.filter(({ message }) => message.includes('larger than allowed'));
  await proxy.request(get('/', asLines(MAX)));
  await client.request(Object.fromEntries(fields(MAX)));
  await proxy.request(get(`/${'p'.repeat(9_000)}`));
  assert.equal(lines().length, 1);
  assert.deepEqual(lines()[0]?.fields, { address: '127.0.0.1', status: 431, reason: 'the head has too many fields', count: 1 });
  proxy.clock.pass(MINUTE);
  await proxy.request(get('/', 'x y: z\r\n'));
  assert.equal(lines().length, 1, 'a malformed head is not logged as one that was too large');
  await proxy.request(get('/', asLines(MAX)));
  assert.deepEqual(lines()[1]?.fields, { address: '127.0.0.1', status: 431, reason: 'the head has too many fields', count: 3 });
});
