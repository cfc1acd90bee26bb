import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Cidr } from '../../../shared/values/cidr.ts';
import type { TrafficSettings } from '../protocol.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field, refusedConnection, type Wire } from '../testing/wire.ts';

const start = (upstream: UpstreamFixture, settings: Partial<TrafficSettings>) => ProxyFixture.with([site('a.test', upstream)], settings);
const counts = (proxy: ProxyFixture) => Object.fromEntries(proxy.ledger.connections.reading().refused);

/** Opens connections and waits until each has been served, so that all are admitted. */
async function served(proxy: ProxyFixture, count: number): Promise<Wire[]> {
  const wires: Wire[] = [];
  for (let at = 0; at < count; at++) {
    const wire = await proxy.connect();
    wire.send(get());
    await wire.readAnswer();
    wires.push(wire);
  }
  return wires;
}

test('a connection over the total limit is closed without a response, and one that ends makes room for the next', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await start(upstream, { maxConnections: 3 });
  const wires = await served(proxy, 3);
  for (let visit = 0; visit < 2; visit++) {
    assert.equal(await refusedConnection(proxy.port, get()), '');
  }
  assert.deepEqual([proxy.ledger.connections.open(), counts(proxy).limit], [3, 2]);
  assert.equal(proxy.log.lines.filter(({ message }) => message?.includes('max_connections allows')).length, 1);
  wires[0]?.reset();
  await eventually('room', () => proxy.ledger.connections.open() === 2);
  await served(proxy, 1);
});

test('a connection over the limit of its address is closed, and the open ones continue', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await start(upstream, { maxConnectionsPerAddress: 2 });
  const [first] = await served(proxy, 2);
  assert.equal(await refusedConnection(proxy.port), '');
  assert.deepEqual([proxy.ledger.connections.open(), counts(proxy).address_limit], [2, 1]);
  first?.send(get());
  await first?.readAnswer();
  first?.end();
  await eventually('room', () => proxy.ledger.connections.open() === 1);
  await served(proxy, 1);
});

test('a trusted proxy may have as many connections as the total limit allows', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await start(upstream, { maxConnectionsPerAddress: 2, maxConnections: 5, trustedProxies: ['127.0.0.1' as Cidr] });
  await served(proxy, 5);
  assert.equal(await refusedConnection(proxy.port), '');
  assert.deepEqual([counts(proxy).address_limit, counts(proxy).limit], [0, 1]);
});

test('connections of other workers count too, and a cleared column releases its connections', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await start(upstream, { maxConnections: 3 });
  const limits = { maxConnections: 3, maxSockets: 100 };
  for (let other = 0; other < 3; other++) assert.equal(proxy.ledger.connections.enter(1, limits), null);
  assert.equal(await refusedConnection(proxy.port), '');
  proxy.ledger.connections.clearWorker(1);
  await served(proxy, 3);
});

test('clients and upstreams share the file descriptors, and running out of them is a 503 that blames no target', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await start(upstream, { maxSockets: 3 });
  const [first, second] = [await proxy.connect(), await proxy.connect()];
  first.send(get());
  const { wire } = await upstream.nextRequest();
  for (let visit = 0; visit < 4; visit++) {
    second.send(get());
    const answer = await second.readAnswer();
    assert.match(answer.line, /^HTTP\/1\.1 503 /);
    assert.equal(field(answer.head, 'Retry-After'), '1');
  }
  assert.equal(proxy.log.lines.at(-1)?.message, 'the proxy has no file descriptor left for another connection');
  assert.equal(await refusedConnection(proxy.port, get()), '');
  assert.equal(counts(proxy).descriptors, 1);
  wire.send(ok('x'));
  await first.readAnswer();
  // The released connection serves the second client.
  second.send(get());
  await wire.readRequest();
  wire.send(ok('y'));
  assert.equal((await second.readAnswer()).body, 'y');
  assert.deepEqual(proxy.targetChanges(), []);
  assert.equal(proxy.ledger.connections.sockets(), 3);
  wire.socket.destroy();
  await eventually('the upstream connection to be released', () => proxy.ledger.connections.sockets() === 2);
});
