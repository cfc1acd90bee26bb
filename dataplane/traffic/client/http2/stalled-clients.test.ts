// Runs alone: it measures the memory of its process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CODE, FLAG, FRAME, type Frames, head, INITIAL_WINDOW, PREFACE, word } from '../../testing/http2/frames.ts';
import { SecureFixture } from '../../testing/proxy/secure-proxy.ts';
import { eventually } from '../../testing/proxy/test-proxy.ts';
import { stillness } from '../../testing/stillness.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import type { Wire } from '../../testing/wire.ts';

const LARGE = 20_000_000;

/** Advances the proxy's clock second by second. */
async function pass(secure: SecureFixture, ms: number): Promise<void> {
  for (let at = 0; at < ms; at += 1_000) {
    secure.proxy.clock.pass(1_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Waits until the proxy stops reading what the upstream sends. */
async function heldUp({ socket }: Wire): Promise<void> {
  await stillness('the upstream to be paused', () => (socket.writableLength > 0 ? socket.bytesWritten - socket.writableLength : 0));
}

test('a client that never opens its window pauses the upstream, and is reset after a minute', async () => {
  using upstream = await UpstreamFixture.start();
  using secure = await SecureFixture.before(upstream);
  const client = await secure.greeted([INITIAL_WINDOW, 0]);
  client.request(1);
  const { wire } = await upstream.nextRequest();
  wire.send(`HTTP/1.1 200 OK\r\nContent-Length: ${LARGE}\r\n\r\n`);
  wire.send(Buffer.alloc(LARGE, 'x'));
  await client.until('the head', () => client.status(1) === 200);
  await heldUp(wire);
  await pass(secure, 58_000);
  await client.answered();
  assert.equal(client.resetCode(1), undefined);
  assert.equal(wire.closed, false);
  await pass(secure, 4_000);
  await client.until('the stream to be reset', () => client.resetCode(1) === CODE.cancel);
  await wire.until('the upstream to be released', () => wire.closed || wire.ended);
  assert.equal(client.of(1, FRAME.data).length, 0);
  await eventually('nothing to be under way', () => secure.proxy.ledger.inFlight.total() === 0);
});

test('a response that is complete at the proxy waits a minute for a window, and occupies no upstream', async () => {
  using upstream = await UpstreamFixture.serving(ok('hello'));
  using secure = await SecureFixture.before(upstream);
  const client = await secure.greeted([INITIAL_WINDOW, 0]);
  client.request(1);
  await client.until('the head', () => client.status(1) === 200);
  await eventually('the exchange to be over', () => secure.proxy.ledger.inFlight.total() === 0);
  await pass(secure, 30_000);
  client.send(FRAME.windowUpdate, 0, 1, Buffer.from([0, 0, 0, 5]));
  await client.until('the body', () => client.of(1, FRAME.data).some(({ payload }) => payload.toString() === 'hello'));
  client.request(3);
  await client.until('the head', () => client.status(3) === 200);
  await pass(secure, 62_000);
  await client.until('the stream to be reset', () => client.resetCode(3) === CODE.cancel);
});

test('128 requests with closed windows pause their upstreams instead of filling memory, and others are served', async () => {
  const body = Buffer.alloc(1_000_000, 'x');
  using upstream = await UpstreamFixture.serving(({ line }, { socket }) => {
    if (!line.includes('/large')) return ok('x');
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
    socket.write(body);
    return null;
  });
  using secure = await SecureFixture.before(upstream);
  const client = await secure.greeted([INITIAL_WINDOW, 0]);
  await client.answered();
  const before = process.memoryUsage().external;
  for (let at = 0; at < 128; at++) client.request(at * 2 + 1, head([':path', '/large']));
  await client.until('every head', () => client.status(255) === 200);
  const other = await secure.greeted();
  other.request(1);
  await other.until('an answer', () => other.of(1, FRAME.data).length > 0);
  const grown = process.memoryUsage().external - before;
  // Half of the bodies: buffers of both sides that have not been collected yet count, too.
  assert.ok(grown < 64 * body.length, `${grown} bytes`);
  await pass(secure, 62_000);
  await eventually('all to be released', () => secure.proxy.ledger.inFlight.total() === 0);
});

test('a client that opens its windows byte by byte receives every byte of them, and the rest is not buffered (CVE-2019-9511)', async () => {
  const BYTES = 2_000;
  using upstream = await UpstreamFixture.start();
  using secure = await SecureFixture.before(upstream);
  const client = await secure.greeted([INITIAL_WINDOW, 0]);
  client.request(1);
  const { wire } = await upstream.nextRequest();
  wire.send(`HTTP/1.1 200 OK\r\nContent-Length: ${LARGE}\r\n\r\n`);
  wire.send(Buffer.alloc(LARGE, 'x'));
  await client.until('the head', () => client.status(1) === 200);
  await heldUp(wire);
  const before = process.memoryUsage().external;
  const received = (): number => client.of(1, FRAME.data).reduce((sum, { payload }) => sum + payload.length, 0);
  for (let at = 0; at < BYTES; at++) {
    client.send(FRAME.windowUpdate, 0, 1, word(1));
    if (at % 100 === 99) await client.until('the bytes', () => received() === at + 1);
  }
  const other = await secure.greeted();
  other.request(1);
  await upstream.nextRequest();
  assert.ok(process.memoryUsage().external - before < LARGE / 4);
  assert.ok(wire.socket.writableLength > LARGE / 2, `${wire.socket.writableLength} bytes wait at the upstream`);
});

test('responses to a client that has opened every window and reads nothing pause their upstreams (CVE-2019-9517)', async () => {
  const STREAMS = 16;
  const body = Buffer.alloc(LARGE, 'x');
  const wires: Wire[] = [];
  using upstream = await UpstreamFixture.serving(({ line }, wire) => {
    if (!line.includes('/large')) return ok('x');
    wires.push(wire);
    wire.socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
    wire.socket.write(body);
    return null;
  });
  using secure = await SecureFixture.before(upstream);
  const client = await secure.greeted([INITIAL_WINDOW, 0x7fffffff]);
  client.send(FRAME.windowUpdate, 0, 0, word(0x7fff0000));
  await client.answered();
  client.socket.pause();
  for (let at = 0; at < STREAMS; at++) client.request(at * 2 + 1, head([':path', '/large']));
  await eventually('all requests', () => wires.length === STREAMS);
  for (const wire of wires) await heldUp(wire);
  const waiting = wires.reduce((sum, { socket }) => sum + socket.writableLength, 0);
  assert.ok(waiting > (STREAMS * LARGE) / 2, `${waiting} bytes wait at the upstreams`);
  const other = await secure.greeted();
  other.request(1);
  await other.until('an answer', () => other.of(1, FRAME.data).length > 0);
  client.socket.destroy();
  await eventually('all to be released', () => secure.proxy.ledger.inFlight.total() === 0);
});

for (const [what, greet] of [
  ['says nothing', () => undefined],
  ['stops in the middle of the preface', (client: Frames) => client.write(PREFACE.slice(0, 12))],
  ['sends no settings after the preface', (client: Frames) => client.write(PREFACE)],
] as const) {
  test(`a connection that ${what} is closed after ten seconds`, async () => {
    using secure = await SecureFixture.of([]);
    const client = await secure.connect();
    greet(client);
    await client.until('our settings', () => client.of(0, FRAME.settings).length > 0);
    await pass(secure, 9_000);
    assert.equal(client.closed, false);
    await pass(secure, 2_000);
    await client.until('the end', () => client.closed);
  });
}

test('a connection that begins with anything else is closed at once', async () => {
  using secure = await SecureFixture.of([]);
  const client = await secure.connect();
  client.write('GET / HTTP/1.1\r\nHost: a.test\r\n\r\n');
  await client.until('the end', () => client.closed);
});

test('an incomplete head ends with its connection', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using secure = await SecureFixture.before(upstream);
  const client = await secure.greeted();
  await client.answered();
  client.send(FRAME.headers, FLAG.endStream, 1, '\x82');
  await pass(secure, 62_000);
  await client.until('GOAWAY', () => client.goneCode === CODE.none);
  await pass(secure, 62_000);
  await client.until('the end', () => client.closed);
  assert.equal(upstream.requests.length, 0);
});

test('an idle connection receives GOAWAY after a minute even if it sends pings, and is closed if the client stays', async () => {
  using secure = await SecureFixture.of([]);
  const client = await secure.greeted();
  for (let second = 0; second < 59; second++) {
    await client.answered();
    await pass(secure, 1_000);
  }
  assert.equal(client.goneCode, undefined);
  await pass(secure, 2_000);
  await client.until('GOAWAY', () => client.goneCode === CODE.none);
  await pass(secure, 4_000);
  await eventually('no connection to be counted', () => secure.proxy.ledger.connections.open() === 0);
});

test('a client that reads nothing is disconnected too', async () => {
  using upstream = await UpstreamFixture.start();
  using secure = await SecureFixture.before(upstream);
  const client = await secure.greeted([INITIAL_WINDOW, 0x7fffffff]);
  client.send(FRAME.windowUpdate, 0, 0, Buffer.from([0x7f, 0, 0, 0]));
  await client.answered();
  client.request(1);
  const { wire } = await upstream.nextRequest();
  client.socket.pause();
  wire.send(`HTTP/1.1 200 OK\r\nContent-Length: ${LARGE}\r\n\r\n`);
  wire.send(Buffer.alloc(LARGE, 'x'));
  await heldUp(wire);
  await pass(secure, 62_000);
  await wire.until('the upstream to be released', () => wire.closed || wire.ended);
  await pass(secure, 62_000);
  await pass(secure, 62_000);
  await eventually('no connection to be counted', () => secure.proxy.ledger.connections.open() === 0);
});
