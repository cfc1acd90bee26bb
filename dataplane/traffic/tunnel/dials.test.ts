import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, get, ProxyFixture, site } from '../testing/test-proxy.ts';
import { ok, refusingAddress, UpstreamFixture } from '../testing/test-upstream.ts';

/** As many connections for tunnels as are let be on their way to one target. */
const MOST = 64;
const HANDSHAKE = get('/', 'Connection: Upgrade\r\nUpgrade: websocket\r\n');
const AGREED = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';

/** Over TLS a connection is established once the target has answered the handshake, which this one never does. */
const neverStanding = async () => {
  const upstream = await UpstreamFixture.start();
  const proxy = await ProxyFixture.start([{ ...site('a.test', upstream), tls: true }]);
  return { upstream, proxy };
};

test('upgrades that are called off one after the other share the connection that is being opened', async () => {
  const { upstream, proxy } = await neverStanding();
  for (let nth = 0; nth < 20; nth++) {
    const client = await proxy.connect();
    client.send(HANDSHAKE);
    await eventually('the request', () => proxy.ledger.inFlight.total() === 1);
    client.reset();
    await eventually('its end', () => proxy.ledger.inFlight.total() === 0);
  }
  await upstream.accept();
  assert.equal(upstream.connections.length, 1);
  // Nobody claims it any more: it ends with its time limit, and blames nobody.
  proxy.clock.pass(5_000);
  await eventually('nothing to be open', () => proxy.ledger.connections.sockets() === 0);
  assert.deepEqual(proxy.targetChanges(), []);
  proxy[Symbol.dispose]();
  upstream[Symbol.dispose]();
});

test('no more than 64 are on their way at a time, and those who wait behind them are told with them', async () => {
  const { upstream, proxy } = await neverStanding();
  const clients = await Promise.all(Array.from({ length: 100 }, () => proxy.connect()));
  for (const client of clients) client.send(HANDSHAKE);
  await eventually('all to be under way', () => proxy.ledger.inFlight.total() === 100 && upstream.connections.length >= MOST);
  assert.equal(upstream.connections.length, MOST);
  proxy.clock.pass(5_000);
  for (const client of clients) assert.match((await client.readAnswer()).line, / 504 /);
  assert.equal(upstream.connections.length, MOST);
  proxy[Symbol.dispose]();
  upstream[Symbol.dispose]();
});

test('more than that at a time all come to an agreement where the target takes their connections', async () => {
  using upstream = await UpstreamFixture.serving(AGREED);
  using proxy = await ProxyFixture.before(upstream);
  const clients = await Promise.all(Array.from({ length: 100 }, () => proxy.connect()));
  for (const client of clients) client.send(HANDSHAKE);
  for (const client of clients) assert.match(await client.readHead(), / 101 /);
  assert.equal(upstream.connections.length, 100);
});

test('those who wait behind a target that refuses go to the next one', async () => {
  using upstream = await UpstreamFixture.serving(ok('no tunnel'));
  using proxy = await ProxyFixture.before({ address: await refusingAddress() }, upstream);
  const clients = await Promise.all(Array.from({ length: 100 }, () => proxy.connect()));
  for (const client of clients) client.send(HANDSHAKE);
  for (const client of clients) assert.equal((await client.readAnswer()).body, 'no tunnel');
});
