import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FAILURES_TO_EJECT } from '../../../ledger/targets.ts';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { CODE, FLAG, FRAME, Frames, INITIAL_WINDOW, MAX_FRAME, word } from '../../testing/http2/frames.ts';
import { h2c } from '../../testing/http2/upstream.ts';
import { eventually, get, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { stillness } from '../../testing/stillness.ts';
import { UpstreamFixture } from '../../testing/test-upstream.ts';
import type { Wire } from '../../testing/wire.ts';

/** Status 200 (RFC 7541 appendix A). */
const OK = Buffer.of(0x88);
/** What a target may send on a stream that is not read. */
const STREAM_WINDOW = 262_144;
const LARGE = 20_000_000;
const HEAD = `HTTP/1.1 200 OK\r\nContent-Length: ${LARGE}\r\n\r\n`;

test('a target that gives up responses that their clients do not read stays in the rotation', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const clients: Wire[] = [];
  for (let nth = 0; nth < FAILURES_TO_EJECT; nth++) {
    const client = await proxy.connect();
    client.socket.pause();
    client.send(get());
    const { wire } = await upstream.nextRequest();
    const { socket } = wire;
    wire.send(HEAD);
    wire.send(Buffer.alloc(LARGE, 'x'));
    await stillness('the target to be paused', () => (socket.writableLength > 0 ? socket.bytesWritten - socket.writableLength : 0));
    clients.push(client);
  }
  for (const { socket } of upstream.connections) socket.resetAndDestroy();
  for (const client of clients) {
    client.socket.resume();
    await client.until('the end', () => client.ended || client.closed);
  }
  assert.deepEqual(proxy.targetChanges(), []);
});

test('the same over HTTP/2', async () => {
  using target = await FrameTargetFixture.serving((connection, stream) => {
    connection.send(FRAME.headers, FLAG.endHeaders, stream, OK);
    for (let sent = 0; sent < STREAM_WINDOW; sent += MAX_FRAME) connection.send(FRAME.data, 0, stream, Buffer.alloc(MAX_FRAME));
  });
  using proxy = await h2c(target);
  using client = (await Frames.plain(proxy.port)).greet([INITIAL_WINDOW, 0]);
  const streams = Array.from({ length: FAILURES_TO_EJECT }, (_, nth) => 2 * nth + 1);
  for (const stream of streams) client.request(stream);
  await client.until('the responses', () => streams.every((stream) => client.of(stream, FRAME.headers).length > 0));
  const [connection] = target.connections;
  await connection?.answered();
  for (const stream of streams) connection?.send(FRAME.reset, 0, stream, word(CODE.internal));
  await client.until('the resets', () => streams.every((stream) => client.resetCode(stream) === CODE.internal));
  assert.deepEqual(proxy.targetChanges(), []);
});

test('a target that ends responses that their clients do read leaves the rotation', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  for (let nth = 0; nth < FAILURES_TO_EJECT; nth++) {
    const client = await proxy.connect();
    client.send(get());
    const { wire } = await upstream.nextRequest();
    wire.send(`${HEAD}x`);
    await client.readHead();
  }
  for (const wire of upstream.connections) wire.reset();
  await eventually('all to be over', () => proxy.ledger.inFlight.total() === 0);
  assert.equal(proxy.targetChanges().length, 1);
});
