import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, get, ProxyFixture } from '../testing/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

test('of several idle connections the one used last is used first', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const clients = [await proxy.connect(), await proxy.connect(), await proxy.connect()];
  const wires = [];
  for (const client of clients) {
    client.send(get());
    wires.push((await upstream.asked()).wire);
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
  ['says nothing of its limit', '', 4_000],
  ['keeps it for longer', 'Keep-Alive: timeout=100\r\n', 4_000],
  ['keeps it for 3 s', 'Keep-Alive: timeout=3\r\n', 2_000],
] as const)
  test(`an idle connection is let go after ${keptMs} ms where its target ${what}`, async () => {
    using upstream = await UpstreamFixture.serving(ok('answered', fields));
    using proxy = await ProxyFixture.before(upstream);
    await proxy.ask(get());
    const [idle] = upstream.connections;
    proxy.clock.pass(keptMs - 500);
    await proxy.ask(get());
    assert.equal(upstream.connections.length, 1);
    proxy.clock.pass(keptMs + 500);
    await eventually('the proxy to let go', () => idle?.ended === true || idle?.closed === true);
    await proxy.ask(get());
    assert.equal(upstream.connections.length, 2);
  });

/** A target that closes connections that are idle for so long, and says nothing of it; the test moves its clock as well. */
async function closing(upstream: UpstreamFixture, proxy: ProxyFixture, nth: number, ms: number): Promise<void> {
  proxy.clock.pass(ms);
  const wire = upstream.connections[nth];
  wire?.end();
  await wire?.until('the proxy to let go', () => wire.ended || wire.closed);
}

const post = 'POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi';

test('once a target has closed an idle connection after 2 s, later ones are not used for that long: no POST is lost', async () => {
  using upstream = await UpstreamFixture.serving(ok('answered'));
  using proxy = await ProxyFixture.before(upstream);
  await proxy.ask(post);
  await closing(upstream, proxy, 0, 2_000);
  for (let nth = 1; nth < 5; nth++) {
    await proxy.ask(post);
    assert.equal(upstream.connections.length, nth + 1);
    // The one before has been idle for 2 s now.
    if (nth > 1) await closing(upstream, proxy, nth - 1, 400);
    proxy.clock.pass(1_000);
    await proxy.ask(post);
    assert.equal(upstream.connections.length, nth + 1);
    proxy.clock.pass(1_600);
  }
  assert.equal(upstream.requests.length, 9);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('where a target closed for another reason, its connections are used as long as before a few seconds later', async () => {
  using upstream = await UpstreamFixture.serving(ok('answered'));
  using proxy = await ProxyFixture.before(upstream);
  await proxy.ask(get());
  await closing(upstream, proxy, 0, 1_000);
  await proxy.ask(get());
  const [, scout] = upstream.connections;
  // It is not used any more, and stays open for as long as usual.
  proxy.clock.pass(3_400);
  await proxy.ask(get());
  assert.deepEqual([upstream.connections.length, scout?.ended], [3, false]);
  proxy.clock.pass(1_000);
  await scout?.until('the proxy to let go', () => scout.ended || scout.closed);
  await proxy.ask(get());
  proxy.clock.pass(3_400);
  await proxy.ask(get());
  assert.equal(upstream.connections.length, 4);
});

test('a limit that is longer than was thought is learnt from the one connection that waits unused', async () => {
  using upstream = await UpstreamFixture.serving(ok('answered'));
  using proxy = await ProxyFixture.before(upstream);
  await proxy.ask(get());
  await closing(upstream, proxy, 0, 1_000);
  await proxy.ask(get());
  await closing(upstream, proxy, 1, 3_000);
  await proxy.ask(get());
  proxy.clock.pass(2_000);
  await proxy.ask(get());
  assert.equal(upstream.connections.length, 3);
  proxy.clock.pass(2_300);
  await proxy.ask(get());
  assert.equal(upstream.connections.length, 4);
});

test('a target that closes within half a second says nothing about idleness', async () => {
  using upstream = await UpstreamFixture.serving(ok('answered'));
  using proxy = await ProxyFixture.before(upstream);
  await proxy.ask(get());
  await closing(upstream, proxy, 0, 400);
  await proxy.ask(get());
  proxy.clock.pass(3_400);
  await proxy.ask(get());
  assert.equal(upstream.connections.length, 2);
});

test('a connection that its target keeps for a second is not used again', async () => {
  using upstream = await UpstreamFixture.serving(ok('answered', 'Keep-Alive: timeout=1\r\n'));
  using proxy = await ProxyFixture.before(upstream);
  for (let nth = 0; nth < 2; nth++) await proxy.ask(get());
  assert.equal(upstream.connections.length, 2);
});
