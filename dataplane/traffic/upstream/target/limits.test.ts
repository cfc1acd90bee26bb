import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import type { TransportSpec } from '../../../../shared/upstreams/transport.ts';
import { Http2UpstreamFixture } from '../../testing/http2/upstream.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

const SECOND = 1_000;
const HANDSHAKE = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';

const over = (target: { readonly address: string }, transport: TransportSpec): RouteInput => ({ ...site('a.test', target), transport });

/** Advances the clock in steps, as it advances in production. */
function pass(proxy: ProxyFixture, seconds: number): void {
  for (let step = 0; step < seconds; step++) proxy.clock.pass(SECOND);
}

for (const [kind, fields] of [
  ['a request', ''],
  ['an upgrade', HANDSHAKE],
] as const)
  describe(`the time limits of a site apply to ${kind}`, () => {
    test('a response may begin later than after a minute, up to the configured limit', async () => {
      using upstream = await UpstreamFixture.start();
      using proxy = await ProxyFixture.start([over(upstream, { response_header_timeout_secs: 120 })]);
      for (const [seconds, status] of [
        [90, 200],
        [121, 504],
      ] as const) {
        const client = await proxy.connect();
        client.send(get('/', fields));
        const { wire } = await upstream.nextRequest();
        pass(proxy, seconds);
        wire.send(ok('polled', 'Connection: close\r\n'));
        assert.match((await client.readAnswer()).line, new RegExp(` ${status} `));
      }
    });

    test('a response that never begins is waited for if there is no limit', async () => {
      using upstream = await UpstreamFixture.start();
      using proxy = await ProxyFixture.start([over(upstream, { response_header_timeout_secs: 0 })]);
      const client = await proxy.connect();
      client.send(get('/', fields));
      const { wire } = await upstream.nextRequest();
      pass(proxy, 3_600);
      wire.send(ok('polled'));
      assert.equal((await client.readAnswer()).body, 'polled');
    });

    test('a body that stalls for longer than configured is cut off, and no sooner', async () => {
      using upstream = await UpstreamFixture.start();
      using proxy = await ProxyFixture.start([over(upstream, { read_timeout_secs: 90 })]);
      const client = await proxy.connect();
      client.send(get('/', fields));
      const { wire } = await upstream.nextRequest();
      wire.send('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na');
      await client.readThrough('\r\n\r\na');
      pass(proxy, 88);
      wire.send('b');
      assert.equal(await client.read(1), 'b');
      pass(proxy, 91);
      await client.until('the cut', () => client.ended || client.closed);
      assert.equal(client.unread, '');
    });
  });

test('the time limits apply over HTTP/2 too', async () => {
  using upstream = await Http2UpstreamFixture.serving(() => undefined);
  using proxy = await ProxyFixture.start([over(upstream, { protocol: 'h2c', response_header_timeout_secs: 3 })]);
  const client = await proxy.connect();
  client.send(get());
  await eventually('the request', () => upstream.requests.length > 0);
  pass(proxy, 2);
  assert.equal(client.unread, '');
  pass(proxy, 2);
  assert.match((await client.readAnswer()).line, / 504 /);
});

test('a connection may take as long to be established as configured', async () => {
  // Accepts connections and never answers the TLS handshake.
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([{ ...over(upstream, { dial_timeout_secs: 20 }), tls: true }]);
  for (const fields of ['', HANDSHAKE]) {
    const client = await proxy.connect();
    client.send(get('/', fields));
    await upstream.accept();
    pass(proxy, 19);
    assert.equal(client.unread, '');
    pass(proxy, 2);
    assert.match((await client.readAnswer()).line, / 504 /);
  }
});

test("a block has its own limits, and changing one keeps the target's connections", async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  const route = (secs: number): RouteInput => ({
    ...site('a.test', upstream),
    handles: [{ path: '/poll', transport: { response_header_timeout_secs: secs } }],
  });
  using proxy = await ProxyFixture.start([route(90)]);
  assert.match(proxy.dryRun('http://a.test/poll').verdict, /; it begins its response within 90 s, or the response is 504$/);
  assert.equal(proxy.dryRun('http://a.test/').verdict, 'forwarded to its only target');
  assert.equal((await proxy.request(get('/poll'))).body, 'x');
  await proxy.publish([route(0)]);
  assert.match(proxy.dryRun('http://a.test/poll').verdict, /; it begins its response at any time, or the response is 504$/);
  assert.equal((await proxy.request(get('/poll'))).body, 'x');
  assert.equal((await proxy.request(get('/'))).body, 'x');
  assert.equal(upstream.connections.length, 1);
});
