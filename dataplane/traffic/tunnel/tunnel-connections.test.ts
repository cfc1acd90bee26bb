import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { ok, refusingAddress, UpstreamFixture } from '../testing/test-upstream.ts';

/** The maximum number of connections for tunnels that may be connecting to one target. */
const MAX_CONNECTING = 64;
const HANDSHAKE = get('/', 'Connection: Upgrade\r\nUpgrade: websocket\r\n');
const AGREED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';

/** Over TLS a connection is established once the handshake is complete, which this target never answers. */
const neverEstablished = async () => {
  const upstream = await UpstreamFixture.start();
  const proxy = await ProxyFixture.start([{ ...site('a.test', upstream), tls: true }]);
  return { upstream, proxy };
};

test('consecutive cancelled upgrades share the connection that is being opened', async () => {
  const { upstream, proxy } = await neverEstablished();
  for (let nth = 0; nth < 20; nth++) {
    const client = await proxy.connect();
    client.send(HANDSHAKE);
    await eventually('the request', () => proxy.ledger.inFlight.total() === 1);
    client.reset();
    await eventually('its end', () => proxy.ledger.inFlight.total() === 0);
  }
  await upstream.accept();
  assert.equal(upstream.connections.length, 1);
  // No exchange claims it any more, so it ends with its time limit and no failure is counted.
  proxy.clock.pass(5_000);
  await eventually('no connection to be open', () => proxy.ledger.connections.sockets() === 0);
  assert.deepEqual(proxy.targetChanges(), []);
  proxy[Symbol.dispose]();
  upstream[Symbol.dispose]();
});

test('at most 64 connections are being opened at once, and the requests queued behind them get the same result', async () => {
  const { upstream, proxy } = await neverEstablished();
  const clients = await Promise.all(Array.from({ length: 100 }, () => proxy.connect()));
  for (const client of clients) client.send(HANDSHAKE);
  await eventually('all to be connecting', () => proxy.ledger.inFlight.total() === 100 && upstream.connections.length >= MAX_CONNECTING);
  assert.equal(upstream.connections.length, MAX_CONNECTING);
  proxy.clock.pass(5_000);
  for (const client of clients) assert.match((await client.readAnswer()).line, / 504 /);
  assert.equal(upstream.connections.length, MAX_CONNECTING);
  proxy[Symbol.dispose]();
  upstream[Symbol.dispose]();
});

test('more than 64 concurrent upgrades all succeed if the target accepts their connections', async () => {
  using upstream = await UpstreamFixture.serving(AGREED);
  using proxy = await ProxyFixture.before(upstream);
  const clients = await Promise.all(Array.from({ length: 100 }, () => proxy.connect()));
  for (const client of clients) client.send(HANDSHAKE);
  for (const client of clients) assert.match(await client.readHead(), / 101 /);
  assert.equal(upstream.connections.length, 100);
});

test('requests queued behind a target that refuses are retried on the next target', async () => {
  using upstream = await UpstreamFixture.serving(ok('no tunnel'));
  using proxy = await ProxyFixture.before({ address: await refusingAddress() }, upstream);
  const clients = await Promise.all(Array.from({ length: 100 }, () => proxy.connect()));
  for (const client of clients) client.send(HANDSHAKE);
  for (const client of clients) assert.equal((await client.readAnswer()).body, 'no tunnel');
});
