import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CODE, Frames, INITIAL_WINDOW } from '../testing/http2/frames.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { stillness } from '../testing/stillness.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { UpstreamConnection } from './http1/connection.ts';

const LARGE = 20_000_000;

test('if all connections to a target are open, the response that is unread for longest gives way to a request that waits', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.with([site('a.test', upstream)], {}, { maxPerTarget: 2 });
  using client = await Frames.plain(proxy.port);
  client.greet([INITIAL_WINDOW, 0]);
  for (const stream of [1, 3]) {
    client.request(stream);
    const { wire } = await upstream.nextRequest();
    wire.send(`HTTP/1.1 200 OK\r\nContent-Length: ${LARGE}\r\n\r\n`);
    wire.send(Buffer.alloc(LARGE, 'x'));
    const { socket } = wire;
    await stillness('the target to be paused', () => (socket.writableLength > 0 ? socket.bytesWritten - socket.writableLength : 0));
    proxy.clock.pass(1_000);
  }
  const early = proxy.request(get());
  await eventually('the request to wait', () => proxy.ledger.inFlight.total() === 3);
  for (let second = 0; second < 6; second++) proxy.clock.pass(1_000);
  assert.match((await early).line, / 503 /);
  await client.answered();
  assert.equal(client.resetCode(1), undefined);

  for (let second = 0; second < 6; second++) proxy.clock.pass(1_000);
  const late = await proxy.connect();
  late.send(get());
  await eventually('the request to wait', () => proxy.ledger.inFlight.total() === 3);
  proxy.clock.pass(1_000);
  const { wire } = await upstream.nextRequest();
  wire.send(ok('served'));
  assert.equal((await late.readAnswer()).body, 'served');
  await client.until('a stream to be reset', () => client.resetCode(1) === CODE.internal);
  assert.equal(client.resetCode(3), undefined);
  assert.deepEqual(proxy.targetChanges(), []);
});

test('unread responses are looked for now and then, not once for each request that waits', async (t) => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.with([site('a.test', upstream)], {}, { maxPerTarget: 1 });
  const looked = t.mock.getter(UpstreamConnection.prototype, 'unreadSince');
  const count = 50;
  for (let nth = 0; nth <= count; nth++) (await proxy.connect()).send(get());
  await eventually('the requests to wait', () => proxy.ledger.inFlight.total() > count);
  await upstream.accept();
  assert.equal(looked.mock.callCount(), 0);
  proxy.clock.pass(500);
  await eventually('it to look for them', () => looked.mock.callCount() > 0);
  assert.equal(looked.mock.callCount(), 1);
});
