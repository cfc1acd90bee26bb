import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Targets, targetKey } from '../../../ledger/targets.ts';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { CODE, FLAG, FRAME, Frames, INITIAL_WINDOW, MAX_FRAME } from '../../testing/http2/frames.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { stillness } from '../../testing/stillness.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

const LARGE = 20_000_000;
/** More than a worker sends a client that does not read, before it reads no more from the target. */
const PAUSED = 81_920;
/** Statuses 200 and 204 (RFC 7541 appendix A). */
const [OK, NO_CONTENT] = [Buffer.of(0x88), Buffer.of(0x89)];

const seconds = ({ clock }: ProxyFixture, count: number): void => {
  for (let second = 0; second < count; second++) clock.pass(1_000);
};

/** A client with this many unread responses of the target, which came one second after the other. Its streams are 1, 3 and so on. */
async function unread(proxy: ProxyFixture, upstream: UpstreamFixture, count: number): Promise<Frames> {
  const client = (await Frames.plain(proxy.port)).greet([INITIAL_WINDOW, 0]);
  for (let nth = 0; nth < count; nth++) {
    client.request(2 * nth + 1);
    const { wire } = await upstream.nextRequest();
    wire.send(`HTTP/1.1 200 OK\r\nContent-Length: ${LARGE}\r\n\r\n`);
    wire.send(Buffer.alloc(LARGE, 'x'));
    const { socket } = wire;
    await stillness('the target to be paused', () => (socket.writableLength > 0 ? socket.bytesWritten - socket.writableLength : 0));
    seconds(proxy, 1);
  }
  return client;
}

const limited = (upstream: { readonly address: string }, requests: number, queue = 0) => ({
  ...site('a.test', upstream),
  max_in_flight: { requests, queue, queue_secs: 300 },
});

/** The target's row in the ledger. */
function rowOf(proxy: ProxyFixture, address: string): [Targets, number] {
  const { targets } = proxy.ledger;
  return [targets, targets.find(targetKey(address, false))];
}

test('if a request waits for a place at its target, responses that have been unread for longest give way', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([limited(upstream, 2, 10)]);
  using client = await unread(proxy, upstream, 2);
  const waiting = await proxy.connect();
  waiting.send(get());
  await eventually('the request to wait', () => proxy.ledger.inFlight.total() === 3);
  seconds(proxy, 7);
  await client.answered();
  assert.equal(client.resetCode(1), undefined);
  seconds(proxy, 2);
  const { wire } = await upstream.nextRequest();
  wire.send(ok('served'));
  assert.equal((await waiting.readAnswer()).body, 'served');
  await client.until('a reset', () => client.resetCode(1) === CODE.internal);
  seconds(proxy, 5);
  await client.answered();
  assert.equal(client.resetCode(3), undefined, 'nobody waits any more');
  assert.deepEqual(proxy.targetChanges(), []);
});

test('the same for a request that is refused because there is no queue', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([limited(upstream, 1)]);
  using client = await unread(proxy, upstream, 1);
  seconds(proxy, 12);
  await client.answered();
  assert.equal(client.resetCode(1), undefined, 'no request lacks a place');
  assert.match((await proxy.request(get())).line, / 503 /);
  seconds(proxy, 1);
  await client.until('a reset', () => client.resetCode(1) === CODE.internal);
  const next = proxy.request(get());
  (await upstream.nextRequest()).wire.send(ok('served'));
  assert.equal((await next).body, 'served');
});

test('the same for a request that another worker has received', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([limited(upstream, 1)]);
  using client = await unread(proxy, upstream, 1);
  seconds(proxy, 12);
  const [targets, row] = rowOf(proxy, upstream.address);
  targets.foundFull(row, 1, proxy.clock.now());
  seconds(proxy, 1);
  await client.until('a reset', () => client.resetCode(1) === CODE.internal);
});

test('the same while requests with a higher limit find a place', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([limited(upstream, 1)]);
  using client = await unread(proxy, upstream, 1);
  seconds(proxy, 12);
  assert.match((await proxy.request(get())).line, / 503 /);
  const [targets, row] = rowOf(proxy, upstream.address);
  assert.equal(targets.reserve(row, 0, 2), true);
  targets.end(row, 0);
  seconds(proxy, 1);
  await client.until('a reset', () => client.resetCode(1) === CODE.internal);
});

test('the same for a target over HTTP/2, of whose unread responses half give way at a time', async () => {
  const count = 4;
  let answered = 0;
  using target = await FrameTargetFixture.serving((connection, stream) => {
    if (++answered > count) return void connection.send(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, NO_CONTENT);
    connection.send(FRAME.headers, FLAG.endHeaders, stream, OK);
    for (let sent = 0; sent < PAUSED; sent += MAX_FRAME) connection.send(FRAME.data, 0, stream, Buffer.alloc(MAX_FRAME));
  });
  using proxy = await ProxyFixture.start([{ ...limited(target, count), transport: { protocol: 'h2c' } }]);
  using client = (await Frames.plain(proxy.port)).greet([INITIAL_WINDOW, 0]);
  const streams = Array.from({ length: count }, (_, nth) => 2 * nth + 1);
  for (const stream of streams) client.request(stream);
  await client.until('the responses', () => streams.every((stream) => client.of(stream, FRAME.headers).length > 0));
  await target.connections[0]?.answered();
  // All of it may have been passed on at once, and a slow client needs some seconds for that.
  seconds(proxy, 16);
  assert.match((await proxy.request(get())).line, / 503 /);
  proxy.clock.pass(500);
  assert.match((await proxy.request(get())).line, / 204 /);
  seconds(proxy, 2);
  await client.answered();
  assert.equal(streams.filter((stream) => client.resetCode(stream) === CODE.internal).length, count / 2);
});

test('the same for a response that declines an upgrade', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([limited(upstream, 1)]);
  const client = await proxy.connect();
  client.socket.pause();
  client.send('GET / HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  const { wire } = await upstream.nextRequest();
  wire.send(`HTTP/1.1 200 OK\r\nContent-Length: ${LARGE}\r\n\r\n`);
  wire.send(Buffer.alloc(LARGE, 'x'));
  const { socket } = wire;
  await stillness('the target to be paused', () => (socket.writableLength > 0 ? socket.bytesWritten - socket.writableLength : 0));
  seconds(proxy, 12);
  assert.equal(wire.closed, false);
  assert.match((await proxy.request(get())).line, / 503 /);
  seconds(proxy, 1);
  const next = proxy.request(get());
  (await upstream.nextRequest()).wire.send(ok('served'));
  assert.equal((await next).body, 'served');
  assert.deepEqual(proxy.targetChanges(), []);
});
