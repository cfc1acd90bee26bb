import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetKey } from '../../ledger/targets.ts';
import { eventually, get, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

test('10,000 connections that are closed or reset leak nothing', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using proxy = await ProxyFixture.before(upstream);
  const visit = async (at: number): Promise<void> => {
    const client = await proxy.connect();
    const text = get('/', 'Connection: close\r\n');
    if (at % 4 === 0) {
      client.send(text.slice(0, at % text.length));
      client.reset();
    } else if (at % 4 === 1) {
      client.send(text);
      client.reset();
    } else {
      client.send(text);
      assert.equal((await client.readAnswer()).body, 'x');
      await client.until('the end', () => client.ended || client.closed);
    }
    client.socket.destroy();
  };
  let next = 0;
  const visitor = async (): Promise<void> => {
    while (next < 10_000) await visit(next++);
  };
  await Promise.all(Array.from({ length: 50 }, visitor));
  const { inFlight, connections } = proxy.ledger;
  await eventually('nothing to be under way', () => inFlight.total() === 0 && connections.open() === 0);
  // The upstream connections wait for the next request, and then they close too.
  proxy.clock.pass(5_000);
  await eventually('nothing to be open', () => connections.sockets() === 0);
  const slot = proxy.ledger.targets.find(targetKey(upstream.address, false));
  assert.equal(proxy.ledger.targets.inFlight(slot), 0);
  assert.deepEqual(proxy.targetChanges(), []);
});
