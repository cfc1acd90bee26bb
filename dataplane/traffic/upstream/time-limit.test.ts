import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RouteInput } from '../../../shared/route.ts';
import { Http2UpstreamFixture } from '../testing/http2/upstream.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

const LIMIT = 5;

const over = (target: { readonly address: string }, more: Partial<RouteInput> = {}): RouteInput => ({
  ...site('a.test', target),
  transport: { request_timeout_secs: LIMIT },
  ...more,
});

/** Advances the clock in steps, as it advances in production. */
function pass(proxy: ProxyFixture, seconds: number): void {
  for (let step = 0; step < seconds * 2; step++) proxy.clock.pass(500);
}

describe('a request that is not complete within request_timeout', () => {
  test('is a 504 if its response has not begun, however often a part of the head arrives', async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.start([over(upstream)]);
    const client = await proxy.connect();
    client.send(get());
    const { wire } = await upstream.nextRequest();
    wire.send('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n');
    await client.readThrough('\r\n\r\n');
    pass(proxy, LIMIT - 1);
    wire.send('HTTP/1.1 200 OK\r\n');
    pass(proxy, 1);
    assert.match((await client.readAnswer()).line, / 504 /);
    await wire.until('its connection to be closed', () => wire.closed || wire.ended);
    proxy.counted();
    const reports = proxy.messages.flatMap((message) => (message.kind === 'report' ? [message.report] : []));
    assert.deepEqual(
      reports.flatMap(({ domains, targets = [] }) => [domains.flatMap(({ failures }) => failures), targets]),
      [[['request_timeout', 1]], []],
    );
  });

  test('is a 504 after a part of a second, if that is the limit', async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.start([over(upstream, { transport: { request_timeout_secs: 0.25 } })]);
    const client = await proxy.connect();
    client.send(get());
    await upstream.nextRequest();
    proxy.clock.pass(249);
    assert.equal(client.unread, '');
    proxy.clock.pass(1);
    assert.match((await client.readAnswer()).line, / 504 /);
  });

  test('is cut off if its response has begun, also if a piece comes every second', async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.start([over(upstream)]);
    const client = await proxy.connect();
    client.send(get());
    const { wire } = await upstream.nextRequest();
    wire.send('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n');
    await client.readThrough('\r\n\r\n');
    for (let second = 1; second < LIMIT; second++) {
      pass(proxy, 1);
      wire.send('x');
      assert.equal(await client.read(1), 'x');
    }
    pass(proxy, 1);
    await client.until('the cut', () => client.ended || client.closed);
    assert.equal(client.unread, '');
  });

  for (const upstreams of [[], [{ address: '127.0.0.1:1', state: 'starting' as const }]])
    test(`is a 504 while it waits for ${upstreams.length === 0 ? 'a target' : 'its target'}, although it may be held for longer`, async () => {
      using proxy = await ProxyFixture.start([over({ address: '' }, { upstreams, hold_secs: 60 })]);
      const client = await proxy.connect();
      client.send(get());
      await eventually('the request to be held', () => proxy.ledger.inFlight.total() === 1);
      pass(proxy, LIMIT - 1);
      assert.equal(client.unread, '');
      pass(proxy, 1);
      assert.match((await client.readAnswer()).line, / 504 /);
    });

  test('leaves the target in rotation', async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.start([over(upstream)]);
    for (let nth = 0; nth < 5; nth++) {
      const client = await proxy.connect();
      client.send(get());
      await upstream.nextRequest();
      pass(proxy, LIMIT);
      assert.match((await client.readAnswer()).line, / 504 /);
    }
  });
});

test('a response over HTTP/2 to the target is limited in the same way', async () => {
  using upstream = await Http2UpstreamFixture.serving(() => undefined);
  using proxy = await ProxyFixture.start([over(upstream, { transport: { protocol: 'h2c', request_timeout_secs: LIMIT } })]);
  const client = await proxy.connect();
  client.send(get());
  await eventually('the request', () => upstream.requests.length > 0);
  pass(proxy, LIMIT);
  assert.match((await client.readAnswer()).line, / 504 /);
});

test('an event stream continues after request_timeout', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([over(upstream)]);
  const client = await proxy.connect();
  client.send(get());
  const { wire } = await upstream.nextRequest();
  wire.send('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n');
  await client.readThrough('\r\n\r\n');
  pass(proxy, LIMIT * 3);
  wire.send('data: late\n\n');
  await client.readThrough('data: late\n\n');
});

test('a connection serves one request after the other, and each has the whole time', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([over(upstream)]);
  const client = await proxy.connect();
  for (let nth = 0; nth < 3; nth++) {
    client.send(get());
    const { wire } = await upstream.nextRequest();
    pass(proxy, LIMIT - 1);
    wire.send(ok('in time', 'Connection: close\r\n'));
    assert.equal((await client.readAnswer()).body, 'in time');
  }
  pass(proxy, LIMIT);
  assert.equal(client.closed || client.ended, false);
});

test('an upgrade that the target does not answer in time is a 504, and an accepted upgrade has no limit', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([over(upstream)]);
  const handshake = get('/', 'Connection: Upgrade\r\nUpgrade: websocket\r\n');
  const late = await proxy.connect();
  late.send(handshake);
  await upstream.nextRequest();
  pass(proxy, LIMIT);
  assert.match((await late.readAnswer()).line, / 504 /);
  const client = await proxy.connect();
  client.send(handshake);
  const { wire } = await upstream.nextRequest();
  wire.send('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  await client.readThrough('\r\n\r\n');
  pass(proxy, LIMIT * 3);
  wire.send('open');
  assert.equal(await client.read(4), 'open');
});

test('the dry run names the limit', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([over(upstream)]);
  assert.match(proxy.dryRun('http://a.test/').verdict, /; it completes it within 5 s, or the response is 504$/);
});
