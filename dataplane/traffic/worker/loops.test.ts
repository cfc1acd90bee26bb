import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http2';
import { test } from 'node:test';
import { MAX_HOPS } from '../codec/hops.ts';
import { Http2Client } from '../testing/http2/upstream.ts';
import { cachingProxy } from '../testing/proxy/caching-proxy.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';

/** A proxy whose site leads back to itself. */
async function circle(protocol?: 'h2c'): Promise<ProxyFixture> {
  const proxy = await ProxyFixture.start([]);
  const route = site('a.test', { address: `127.0.0.1:${proxy.port}` });
  await proxy.publish([protocol === undefined ? route : { ...route, transport: { protocol } }]);
  return proxy;
}

/** The request has looped this many times and no more. */
async function cameRound(proxy: ProxyFixture): Promise<void> {
  await eventually('nothing to be under way', () => proxy.ledger.inFlight.total() === 0);
  assert.equal(proxy.counted().get('a.test')?.requests, MAX_HOPS + 2);
  assert.match(JSON.stringify(proxy.log), /"status":508.*a route leads back to the proxy itself/);
}

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

for (const [what, request] of [
  ['a request', get()],
  ['an upload', 'POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'],
  ['a request for an upgrade', get('/', UPGRADE)],
] as const)
  for (const protocol of [undefined, 'h2c'] as const)
    test(`${what} that loops${protocol === undefined ? '' : ' over HTTP/2'} is answered with 508 after eleven rounds`, async () => {
      using proxy = await circle(protocol);
      const { line, body } = await proxy.request(request);
      assert.equal(line, 'HTTP/1.1 508 Loop Detected');
      assert.match(body, /<h1>508<\/h1>/);
      await cameRound(proxy);
    });

test('a request over HTTP/2 that loops is answered with 508', async () => {
  using proxy = await circle();
  using client = new Http2Client(proxy);
  assert.equal((await client.request({})).status, 508);
  await cameRound(proxy);
});

test('a WebSocket over HTTP/2 that loops is answered with 508', async () => {
  using proxy = await circle();
  using client = new Http2Client(proxy);
  await once(client.session, 'remoteSettings');
  const fields = { ':method': 'CONNECT', ':protocol': 'websocket', ':scheme': 'http', ':path': '/', ':authority': 'a.test' };
  const stream = client.session.request(fields, { endStream: false });
  const [head] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }];
  assert.equal(head[':status'], 508);
  stream.destroy();
  await cameRound(proxy);
});

test('a request that loops through a cache is answered with 508 at once, instead of waiting for its own response', async () => {
  using proxy = await cachingProxy(site('a.test', { address: '127.0.0.1:1' }));
  await proxy.publish([{ ...site('a.test', { address: `127.0.0.1:${proxy.port}` }), cache: {} }]);
  assert.equal((await proxy.request(get())).line, 'HTTP/1.1 508 Loop Detected');
  await cameRound(proxy);
});

test('each proxy increments the hop count of any sender, trusted or not', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(field(request.head, 'Sluice-Hops') ?? 'none'));
  using proxy = await ProxyFixture.before(upstream);
  const hopsAtUpstream = async (fields: string): Promise<string> => (await proxy.request(get('/', fields))).body;
  assert.equal(await hopsAtUpstream(''), '1');
  assert.equal(await hopsAtUpstream('Sluice-Hops: 1\r\n'), '2');
  assert.equal(await hopsAtUpstream('sluice-hops:10\r\n'), '11');
  assert.equal(await hopsAtUpstream('Connection: Sluice-Hops\r\nSluice-Hops: 4\r\n'), '5', 'Connection cannot remove it');
});

for (const value of ['11', '999', '1000', '0', '-1', '1, 2', '', 'x', '1\r\nSluice-Hops: 1', '0x1'])
  test(`${JSON.stringify(value)} as a hop count is treated as too many hops`, async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await ProxyFixture.before(upstream);
    assert.match((await proxy.request(get('/', `Sluice-Hops: ${value}\r\n`))).line, / 508 /);
    assert.equal(upstream.requests.length, 0);
  });

test("the proxy's own responses are sent with any hop count", async () => {
  using proxy = await ProxyFixture.start([{ domain: 'a.test', upstream: null, tls: false, respond: { status: 200, body: 'in' } }]);
  assert.equal((await proxy.request(get('/', 'Sluice-Hops: 99\r\n'))).body, 'in');
});
