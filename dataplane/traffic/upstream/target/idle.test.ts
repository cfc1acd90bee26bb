import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, get, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

test('of several idle connections, the most recently used one is reused first', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const clients = [await proxy.connect(), await proxy.connect(), await proxy.connect()];
  const wires = [];
  for (const client of clients) {
    client.send(get());
    wires.push((await upstream.nextRequest()).wire);
  }
  for (const at of [2, 0, 1]) {
    wires[at]?.send(ok('answered'));
    await clients[at]?.readAnswer();
  }
  for (const at of [1, 0, 2]) {
    clients[at]?.send(get());
    await wires[at]?.readRequest();
  }
  assert.equal(upstream.connections.length, 3);
});

for (const [what, fields, keptMs] of [
  ['announces no limit', '', 4_000],
  ['announces a longer limit', 'Keep-Alive: timeout=100\r\n', 4_000],
  ['announces 3 s', 'Keep-Alive: timeout=3\r\n', 2_000],
] as const)
  test(`an idle connection is closed after ${keptMs} ms if its target ${what}`, async () => {
    using upstream = await UpstreamFixture.serving(ok('answered', fields));
    using proxy = await ProxyFixture.before(upstream);
    await proxy.request(get());
    const [idle] = upstream.connections;
    proxy.clock.pass(keptMs - 500);
    await proxy.request(get());
    assert.equal(upstream.connections.length, 1);
    proxy.clock.pass(keptMs + 500);
    await eventually('the proxy to close it', () => idle?.ended === true || idle?.closed === true);
    await proxy.request(get());
    assert.equal(upstream.connections.length, 2);
  });

/** A target that closes connections after they have been idle this long, without announcing it. The test advances its clock too. */
async function closing(upstream: UpstreamFixture, proxy: ProxyFixture, nth: number, ms: number): Promise<void> {
  proxy.clock.pass(ms);
  const wire = upstream.connections[nth];
  wire?.end();
  await wire?.until('the proxy to close it', () => wire.ended || wire.closed);
}

const post = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi';

test('once a target has closed an idle connection after 2 s, later ones are reused for less, and no POST is lost', async () => {
  using upstream = await UpstreamFixture.serving(ok('answered'));
  using proxy = await ProxyFixture.before(upstream);
  await proxy.request(post);
  await closing(upstream, proxy, 0, 2_000);
  for (let nth = 1; nth < 5; nth++) {
    await proxy.request(post);
    assert.equal(upstream.connections.length, nth + 1);
    // The previous connection has been idle for 2 s now.
    if (nth > 1) await closing(upstream, proxy, nth - 1, 400);
    proxy.clock.pass(1_000);
    await proxy.request(post);
    assert.equal(upstream.connections.length, nth + 1);
    proxy.clock.pass(1_600);
  }
  assert.equal(upstream.requests.length, 9);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('if a target closed a connection for another reason, later ones are soon reused for as long as before', async () => {
  using upstream = await UpstreamFixture.serving(ok('answered'));
  using proxy = await ProxyFixture.before(upstream);
  await proxy.request(get());
  await closing(upstream, proxy, 0, 1_000);
  await proxy.request(get());
  const [, idleProbe] = upstream.connections;
  // It is not reused, and stays open for the usual time.
  proxy.clock.pass(3_400);
  await proxy.request(get());
  assert.deepEqual([upstream.connections.length, idleProbe?.ended], [3, false]);
  proxy.clock.pass(1_000);
  await idleProbe?.until('the proxy to close it', () => idleProbe.ended || idleProbe.closed);
  await proxy.request(get());
  proxy.clock.pass(3_400);
  await proxy.request(get());
  assert.equal(upstream.connections.length, 4);
});

test('a limit that is longer than assumed is learned from the one connection that is kept unused', async () => {
  using upstream = await UpstreamFixture.serving(ok('answered'));
  using proxy = await ProxyFixture.before(upstream);
  await proxy.request(get());
  await closing(upstream, proxy, 0, 1_000);
  await proxy.request(get());
  await closing(upstream, proxy, 1, 3_000);
  await proxy.request(get());
  proxy.clock.pass(2_000);
  await proxy.request(get());
  assert.equal(upstream.connections.length, 3);
  proxy.clock.pass(2_300);
  await proxy.request(get());
  assert.equal(upstream.connections.length, 4);
});

test('a close within half a second is not taken for an idle limit', async () => {
  using upstream = await UpstreamFixture.serving(ok('answered'));
  using proxy = await ProxyFixture.before(upstream);
  await proxy.request(get());
  await closing(upstream, proxy, 0, 400);
  await proxy.request(get());
  proxy.clock.pass(3_400);
  await proxy.request(get());
  assert.equal(upstream.connections.length, 2);
});

test('a connection that its target keeps open for only a second is not reused', async () => {
  using upstream = await UpstreamFixture.serving(ok('answered', 'Keep-Alive: timeout=1\r\n'));
  using proxy = await ProxyFixture.before(upstream);
  for (let nth = 0; nth < 2; nth++) await proxy.request(get());
  assert.equal(upstream.connections.length, 2);
});
