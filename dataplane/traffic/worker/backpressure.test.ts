import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { eventually, get, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { stillness } from '../testing/stillness.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';

const SIZE = 50_000_000;
const PIECE = Buffer.alloc(50_000, 'sluice ');
/** Far above what sockets buffer between two processes, and far below the size of a body. */
const BOUND = 25_000_000;

/** Writes `bytes` as fast as the socket accepts them. `stop` ends it early. */
async function pour(socket: Socket, bytes: number, stop: () => boolean = () => false): Promise<number> {
  let sent = 0;
  while (sent < bytes && !stop()) {
    sent += PIECE.length;
    if (!socket.write(PIECE)) await roomIn(socket);
  }
  return sent;
}

function roomIn(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      socket.off('drain', settle).off('close', settle);
      resolve();
    };
    if (socket.destroyed) resolve();
    else socket.on('drain', settle).on('close', settle);
  });
}

/** Counts and hashes received bytes without keeping them. */
function digest(socket: Socket): { bytes: number; done(): string } {
  const hash = createHash('sha1');
  socket.removeAllListeners('data');
  const state = { bytes: 0, done: () => hash.digest('hex') };
  socket.on('data', (chunk: Buffer) => {
    state.bytes += chunk.length;
    hash.update(chunk);
  });
  return state;
}

const EXPECTED = (() => {
  const hash = createHash('sha1');
  for (let sent = 0; sent < SIZE; sent += PIECE.length) hash.update(PIECE);
  return hash.digest('hex');
})();

test('a 50 MB response arrives unchanged, in bounded memory', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(get());
  const { wire } = await upstream.nextRequest();
  wire.send(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`);
  await client.readHead();
  const got = digest(client.socket);
  await pour(wire.socket, SIZE);
  await eventually('all of it', () => got.bytes === SIZE);
  assert.equal(got.done(), EXPECTED);
});

test('a 50 MB request body arrives unchanged', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(`PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${SIZE}\r\n\r\n`);
  const wire = await upstream.accept();
  await wire.readHead();
  const got = digest(wire.socket);
  await pour(client.socket, SIZE);
  await eventually('all of it', () => got.bytes === SIZE);
  assert.equal(got.done(), EXPECTED);
  wire.send(ok('stored'));
  assert.equal((await client.readAnswer()).body, 'stored');
});

test('a client that does not read pauses its upstream, and receives everything once it reads', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(get('/', 'Connection: close\r\n'));
  const { wire } = await upstream.nextRequest();
  client.socket.pause();
  wire.send(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`);
  let sent = 0;
  const pouring = pour(wire.socket, SIZE).then((total) => {
    sent = total;
  });
  await stillness('the upstream to be paused', () => wire.socket.bytesWritten);
  assert.ok(wire.socket.bytesWritten < BOUND, `${wire.socket.bytesWritten} bytes were accepted`);
  const got = digest(client.socket);
  client.socket.resume();
  await pouring;
  assert.equal(sent, SIZE);
  await eventually('all of it', () => got.bytes > SIZE);
});

test('an upstream that does not read pauses its client', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(`PUT / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${SIZE}\r\n\r\n`);
  const wire = await upstream.accept();
  wire.socket.pause();
  const pouring = pour(client.socket, SIZE);
  await stillness('the client to be paused', () => client.socket.bytesWritten);
  assert.ok(client.socket.bytesWritten < BOUND, `${client.socket.bytesWritten} bytes were accepted`);
  const got = digest(wire.socket);
  wire.socket.resume();
  await pouring;
  await eventually('all of it', () => got.bytes > SIZE);
});

test('a slow reader receives the whole response before its connection closes', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(get('/', 'Connection: close\r\n'));
  const { wire } = await upstream.nextRequest();
  client.socket.pause();
  const size = 12_000_000;
  wire.send(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
  const pouring = pour(wire.socket, size);
  let got = 0;
  client.socket.removeAllListeners('data');
  client.socket.on('data', (chunk: Buffer) => {
    got += chunk.length;
    client.socket.pause();
  });
  await eventually('all of it', () => {
    proxy.clock.pass(500);
    client.socket.resume();
    return got > size || client.ended || client.closed;
  });
  await pouring;
  assert.ok(got > size, `${got} of ${size} bytes came`);
});

test('a client that reads nothing for a minute is disconnected, and its upstream connection is closed', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(get());
  const { wire } = await upstream.nextRequest();
  client.socket.pause();
  wire.send(`HTTP/1.1 200 OK\r\nContent-Length: ${SIZE}\r\n\r\n`);
  const pouring = pour(wire.socket, SIZE, () => wire.closed);
  await stillness('the upstream to be paused', () => wire.socket.bytesWritten);
  proxy.clock.pass(1_000);
  await nextTurn();
  proxy.clock.pass(61_000);
  await eventually('the upstream connection to close', () => wire.closed || wire.ended);
  wire.socket.destroy();
  await pouring;
  assert.deepEqual(proxy.targetChanges(), []);
  assert.equal(proxy.counted().get('a.test')?.classes[1], 1);
});

test('requests of a client that does not read their responses are not served ahead', async () => {
  const body = 'x'.repeat(65_536);
  using proxy = await ProxyFixture.start([{ domain: 'a.test', upstream: null, tls: false, respond: { status: 200, body } }]);
  const client = await proxy.connect();
  client.socket.pause();
  const asked = 600;
  client.send(get().repeat(asked));
  client.end();
  await stillness('the requests to stop', () => proxy.counted().get('a.test')?.requests ?? 0);
  const served = proxy.counted().get('a.test')?.requests ?? 0;
  assert.ok(served * body.length < BOUND, `${served} responses were written`);
  const got = digest(client.socket);
  client.socket.resume();
  await client.until('the end', () => client.ended);
  assert.equal(proxy.counted().get('a.test')?.requests, asked);
  assert.ok(got.bytes > asked * body.length);
});
