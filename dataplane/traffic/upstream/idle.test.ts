import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, get, ProxyFixture } from '../testing/proxy-fixture.ts';
import { ok, UpstreamFixture } from '../testing/upstream-fixture.ts';

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

test('a connection that its target keeps for a second is not used again', async () => {
  using upstream = await UpstreamFixture.serving(ok('answered', 'Keep-Alive: timeout=1\r\n'));
  using proxy = await ProxyFixture.before(upstream);
  for (let nth = 0; nth < 2; nth++) await proxy.ask(get());
  assert.equal(upstream.connections.length, 2);
});
