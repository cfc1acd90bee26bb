import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { eventually, get, ProxyFixture, whenRead } from '../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../testing/test-upstream.ts';

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: chat/2\r\n';

test('a tunnel whose client has ended its side is closed once the client takes nothing for a minute, and not before', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(get('/', UPGRADE));
  const { wire } = await upstream.nextRequest();
  wire.send('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat/2\r\n\r\n');
  await client.readHead();
  client.socket.pause();
  client.end();
  await wire.until('the end of the client', () => wire.ended);
  // More than the sockets and the proxy hold.
  wire.send(Buffer.alloc(30_000_000));
  await whenRead();
  // The first sweep notices that the client takes nothing.
  proxy.clock.pass(1_000);
  await nextTurn();
  proxy.clock.pass(58_000);
  await nextTurn();
  assert.equal(proxy.ledger.connections.open(), 1);
  proxy.clock.pass(3_000);
  await eventually('nothing to be left', () => proxy.ledger.connections.sockets() === 0);
  assert.equal(proxy.ledger.inFlight.total(), 0);
});
