import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { eventually, get, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../testing/test-upstream.ts';

/** A tunnel in a protocol, with both of its sides. */
async function tunnel(proxy: ProxyFixture, upstream: UpstreamFixture, protocol: string) {
  const client = await proxy.connect();
  client.send(
    get('/', `Connection: Upgrade\r\nUpgrade: ${protocol}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n`),
  );
  const target = await upstream.accept();
  await target.readHead();
  target.send(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n\r\n`);
  await client.readHead();
  return { client, target };
}

for (const first of ['client', 'target'] as const)
  test(`a WebSocket whose ${first} has ended its side is closed once nothing is delivered for a minute, and not before`, async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.before(upstream);
    const sides = await tunnel(proxy, upstream, 'WebSocket');
    const [ended, other] = first === 'client' ? [sides.client, sides.target] : [sides.target, sides.client];
    // The other one never ends its own.
    other.socket.allowHalfOpen = true;
    ended.end();
    await other.until('the end of the other side', () => other.ended);
    for (let minute = 0; minute < 3; minute++) {
      other.send('more');
      assert.equal(await ended.read(4), 'more');
      proxy.clock.pass(59_000);
      await wait(10);
      assert.equal(proxy.ledger.inFlight.total(), 1);
    }
    proxy.clock.pass(62_000);
    await eventually('nothing to be left', () => proxy.ledger.connections.sockets() === 0);
    assert.equal(proxy.ledger.inFlight.total(), 0);
  });

test('a tunnel in another protocol whose client has ended its side waits for the answer for as long as it takes', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const { client, target } = await tunnel(proxy, upstream, 'tcp');
  client.end();
  await target.until('the end of the client', () => target.ended);
  for (let minute = 0; minute < 60; minute++) proxy.clock.pass(60_000);
  await wait(10);
  target.end('the answer');
  assert.equal(`${await client.readAll()}`, 'the answer');
});
