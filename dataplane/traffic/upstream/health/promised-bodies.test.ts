import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Http2UpstreamFixture, h2c } from '../../testing/http2/upstream.ts';
import { eventually, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../../testing/test-upstream.ts';

const REQUEST = 'POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n';
/** As many failures in a row as take a target out of rotation. */
const TIMES = 3;

/** Clients that never send the body that the target has asked for. */
async function ask(proxy: ProxyFixture): Promise<void> {
  for (let nth = 0; nth < TIMES; nth++) {
    const client = await proxy.connect();
    client.send(REQUEST);
    assert.match(await client.readHead(), /^HTTP\/1\.1 100 /);
  }
  await eventually('the requests to be over', () => {
    proxy.clock.pass(1_000);
    return proxy.ledger.inFlight.total() === 0;
  });
}

test('a client that is told to continue and never sends its body does not count against its target', async () => {
  using upstream = await UpstreamFixture.serving(() => null);
  using proxy = await ProxyFixture.before(upstream);
  const asked = ask(proxy);
  for (let nth = 0; nth < TIMES; nth++) {
    const wire = await upstream.accept();
    await eventually('the request', () => wire.total > 0);
    wire.send('HTTP/1.1 100 Continue\r\n\r\n');
  }
  await asked;
  assert.deepEqual(proxy.targetChanges(), []);
});

test('the same over HTTP/2', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => stream.additionalHeaders({ ':status': 100 }));
  using proxy = await h2c(upstream);
  await ask(proxy);
  assert.deepEqual(proxy.targetChanges(), []);
});
