import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAILURE } from '../../exchange/failure.ts';
import { Http2UpstreamFixture, h2c } from '../../testing/http2/upstream.ts';
import { eventually, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../../testing/test-upstream.ts';

const REQUEST = 'POST / HTTP/1.1\r\nHost: a.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n';
/** As many failures in a row as take a target out of rotation. */
const TIMES = 3;

/** Clients that never send their bodies, and receive only an interim response with this status. */
async function ask(proxy: ProxyFixture, status = 100): Promise<void> {
  for (let nth = 0; nth < TIMES; nth++) {
    const client = await proxy.connect();
    client.send(REQUEST);
    assert.ok((await client.readHead()).startsWith(`HTTP/1.1 ${status} `));
  }
  await eventually('the requests to be over', () => {
    proxy.clock.pass(1_000);
    return proxy.ledger.inFlight.total() === 0;
  });
}

/** A target that answers with an interim response and nothing else. */
async function informs(upstream: UpstreamFixture, head: string): Promise<void> {
  for (let nth = 0; nth < TIMES; nth++) {
    const wire = await upstream.accept();
    await eventually('the request', () => wire.total > 0);
    wire.send(head);
  }
}

test('a client that is told to continue and never sends its body does not count against its target', async () => {
  using upstream = await UpstreamFixture.serving(() => null);
  using proxy = await ProxyFixture.before(upstream);
  await Promise.all([ask(proxy), informs(upstream, 'HTTP/1.1 100 Continue\r\n\r\n')]);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('the same over HTTP/2', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => stream.additionalHeaders({ ':status': 100 }));
  using proxy = await h2c(upstream);
  await ask(proxy);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('a target that sends other interim responses and then nothing leaves the rotation', async () => {
  using upstream = await UpstreamFixture.serving(() => null);
  using proxy = await ProxyFixture.before(upstream);
  await Promise.all([ask(proxy, 103), informs(upstream, 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n')]);
  assert.deepEqual(
    proxy.targetChanges().map(({ reason }) => reason),
    [FAILURE.headTimeout.reason],
  );
});

test('such a target leaves the rotation also over HTTP/2', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => stream.additionalHeaders({ ':status': 103, link: '</a.css>' }));
  using proxy = await h2c(upstream);
  await ask(proxy, 103);
  assert.deepEqual(
    proxy.targetChanges().map(({ reason }) => reason),
    [FAILURE.headTimeout.reason],
  );
});
