import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { TunnelDuplex } from '../client/http2/tunnel-stream.ts';
import { FLAG, FRAME, Frames, head } from '../testing/http2/frames.ts';
import { eventually, get, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../testing/test-upstream.ts';
import { field, type Wire } from '../testing/wire.ts';

const CHAT = head([':method', 'CONNECT'], [':scheme', 'http'], [':protocol', 'websocket']);
const PIECE = 16_384;

let directory: string;
let upstream: UpstreamFixture;
let proxy: ProxyFixture;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'sluice-'));
  // A Unix socket holds few bytes, so that the rest of them waits in the proxy.
  upstream = await UpstreamFixture.start(join(directory, 'target.sock'));
  proxy = await ProxyFixture.before(upstream);
});
afterEach(() => {
  proxy[Symbol.dispose]();
  upstream[Symbol.dispose]();
  rmSync(directory, { recursive: true });
});

/** Accepts a tunnel and ends the target's side of it, which then reads nothing. */
async function endedTarget(): Promise<Wire> {
  const target = await upstream.accept();
  const asked = await target.readHead();
  const accepted = createHash('sha1')
    .update(`${field(asked, 'Sec-WebSocket-Key')}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64');
  target.send(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accepted}\r\n\r\n`);
  target.end('bye');
  target.socket.pause();
  return target;
}

/** Reads the rest slowly. @returns how many bytes it had. */
async function readSlowly(target: Wire): Promise<number> {
  target.socket.on('data', () => {
    target.socket.pause();
    setTimeout(() => target.socket.resume(), 1);
  });
  target.socket.resume();
  return (await target.readAll()).length;
}

/** A tunnel over a stream whose target has ended its side. The client has sent all that the proxy accepts, and ended its side, too. */
async function filledStream(client: Frames): Promise<{ target: Wire; sent: number }> {
  client.request(1, CHAT, 0);
  const target = await endedTarget();
  await client.until('the end of the target', () => client.of(1, FRAME.data).some(({ flags }) => (flags & FLAG.endStream) > 0));
  const window = (stream: number, first: number): number =>
    client.of(stream, FRAME.windowUpdate).reduce((sum, { payload }) => sum + payload.readUInt32BE(0), first);
  let sent = 0;
  for (let quiet = 0; quiet < 10; ) {
    const room = Math.min(window(0, 65_535), window(1, 262_144)) - sent;
    const piece = Math.min(room, PIECE);
    if (piece > 0) client.send(FRAME.data, 0, 1, Buffer.alloc(piece));
    else await wait(10);
    quiet = piece > 0 ? 0 : quiet + 1;
    sent += piece;
    await client.answered();
  }
  client.send(FRAME.data, FLAG.endStream, 1);
  await client.answered();
  return { target, sent };
}

test("the client's last bytes reach a slow target that has ended its side first, over HTTP/2", async () => {
  using client = (await Frames.plain(proxy.port)).greet();
  const { target, sent } = await filledStream(client);
  assert.equal(await readSlowly(target), sent);
  await eventually('nothing to be under way', () => proxy.ledger.inFlight.total() === 0 && proxy.ledger.connections.sockets() === 1);
});

// More than the socket holds, and less than the proxy accepts before it pauses the client.
for (const size of [250_000, 270_000, 290_000])
  test(`the client's last ${size} bytes reach a slow target that has ended its side first, over HTTP/1.1`, async () => {
    const client = await proxy.connect();
    client.send(get('/', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'));
    const target = await endedTarget();
    await client.until('the end of the target', () => client.ended);
    for (let sent = 0; sent < size; sent += 10_000) {
      client.send(Buffer.alloc(10_000));
      await wait(2);
    }
    client.end();
    await client.until('the end', () => client.closed);
    assert.equal(await readSlowly(target), size);
    await eventually('nothing to be left', () => proxy.ledger.inFlight.total() === 0 && proxy.ledger.connections.sockets() === 0);
  });

test('a target that does not take the last bytes of a client that has left is disconnected after a minute', async () => {
  const client = await proxy.connect();
  client.send(get('/', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'));
  await endedTarget();
  await client.until('the end of the target', () => client.ended);
  for (let piece = 0; piece < 27; piece++) {
    client.send(Buffer.alloc(10_000));
    await wait(2);
  }
  client.end();
  await client.until('the end', () => client.closed);
  await eventually('the client to be gone', () => proxy.ledger.connections.open() === 0);
  proxy.clock.pass(58_000);
  await wait(10);
  assert.equal(proxy.ledger.connections.sockets(), 1);
  proxy.clock.pass(3_000);
  await eventually('nothing to be left', () => proxy.ledger.connections.sockets() === 0);
});

test('the same over HTTP/2, where its connection counts until then', async () => {
  using client = (await Frames.plain(proxy.port)).greet();
  await filledStream(client);
  client.socket.destroy();
  for (let second = 0; second < 58; second++) {
    proxy.clock.pass(1_000);
    await new Promise(setImmediate);
  }
  assert.equal(proxy.ledger.connections.open(), 1);
  for (let second = 0; second < 5; second++) {
    proxy.clock.pass(1_000);
    await new Promise(setImmediate);
  }
  await eventually('nothing to be left', () => proxy.ledger.connections.sockets() === 0 && proxy.ledger.inFlight.total() === 0);
  assert.equal(proxy.ledger.connections.open(), 0);
});

test('bytes that wait for a slow target reach it although the connection of the client has closed', async () => {
  using client = (await Frames.plain(proxy.port)).greet();
  const { target, sent } = await filledStream(client);
  client.socket.end();
  await client.until('the end', () => client.closed);
  assert.equal(await readSlowly(target), sent);
  await eventually('nothing to be left', () => proxy.ledger.connections.sockets() === 0 && proxy.ledger.connections.open() === 0);
});

test('a tunnel over HTTP/2 whose target does not take the last bytes is closed, so that nothing stays in memory', async (t) => {
  const streams: TunnelDuplex[] = [];
  const { accept } = TunnelDuplex.prototype;
  t.mock.method(TunnelDuplex.prototype, 'accept', function (this: TunnelDuplex, fields: string): void {
    streams.push(this);
    accept.call(this, fields);
  });
  using client = (await Frames.plain(proxy.port)).greet();
  await filledStream(client);
  assert.deepEqual(
    streams.map(({ closed }) => closed),
    [false],
  );
  client.socket.destroy();
  for (let second = 0; second < 63; second++) {
    proxy.clock.pass(1_000);
    await new Promise(setImmediate);
  }
  await eventually('nothing to be left', () => proxy.ledger.connections.sockets() === 0 && proxy.ledger.connections.open() === 0);
  await eventually('its stream to be closed', () => streams.every(({ closed }) => closed));
});
