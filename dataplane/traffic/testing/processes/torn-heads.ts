import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { Http2Session } from '../../codec/http2/session.ts';
import type { Http2Stream } from '../../codec/http2/stream.ts';
import { block, type Field, FLAG, FRAME, Frames, frame, INITIAL_WINDOW, PREFACE, word } from '../http2/frames.ts';
import { SecureFixture } from '../proxy/secure-proxy.ts';
import { eventually, ProxyFixture, site } from '../proxy/test-proxy.ts';
import { Wire } from '../wire.ts';

/*
 * Test support, run as a separate process because it collects garbage: `node --expose-gc torn-heads.ts WHO WRITE COUNT`. The peer named WHO
 * disconnects in the middle of a head. WRITE is what is in progress then: nothing (`idle`), a blocked write (`stuck`), or a blocked write
 * of a stream that has timed out (`left`). It prints how many streams were closed, and how many streams and sessions could not be
 * collected.
 */

type Who = 'target' | 'client' | 'secure-client';
const [who = 'target', write = 'stuck', count = '1'] = process.argv.slice(2) as [Who?, string?, string?];
const stuck = write !== 'idle';
/** More than all buffers between two sockets hold. */
const MUCH = 33_554_432;
/** Turns without progress after which a write counts as stuck. */
const STILL = 40;
const WIDE = 0x7fffffff;
const FRAME_HEAD = 9;

const many: Field[] = Array.from({ length: 20 }, (_, at) => [`x-${at}`, 'y'.repeat(50)]);
const REQUEST: Field[] = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'a.test'],
];

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

async function untilStuck(left: () => number): Promise<void> {
  let before = -1;
  let still = 0;
  await eventually('the write to be stuck', () => {
    still = left() === before && before > 0 ? still + 1 : 0;
    before = left();
    return still >= STILL;
  });
}

// Only the worker's side has sessions; everything else here writes raw frames.
const made = new Set<WeakRef<Http2Stream | Http2Session>>();
let closed = 0;

const { accept, streamClosed } = Http2Session.prototype;
Http2Session.prototype.accept = function (id) {
  const stream = accept.call(this, id);
  for (const one of [this, stream]) made.add(new WeakRef(one));
  return stream;
};
Http2Session.prototype.streamClosed = function (stream) {
  if (this.streams.has(stream.id)) closed++;
  streamClosed.call(this, stream);
};

/** Connections from the worker. */
const sockets: Socket[] = [];

const tornHead = frame(FRAME.headers, 0, 1, block([[':status', '200'], ...many]));
const tornTrailers = frame(FRAME.headers, FLAG.endStream, 1, block(many));
const goAway = frame(FRAME.goAway, 0, 0, Buffer.alloc(8));

function asked(socket: Socket): void {
  if (stuck) socket.pause();
  else socket.write(Buffer.concat([tornHead, goAway]));
}

function serveHttp2(socket: Socket): void {
  let read: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    read = Buffer.concat([read, chunk]);
    // Bytes after the request's head stay unread.
    for (let at = PREFACE.length; at + FRAME_HEAD <= read.length; at += FRAME_HEAD + read.readUIntBE(at, 3))
      if (read[at + 3] === FRAME.headers) asked(socket);
  });
  socket.write(frame(FRAME.settings, 0, 0, Buffer.concat([Buffer.from([0, INITIAL_WINDOW]), word(WIDE)])));
  socket.write(frame(FRAME.windowUpdate, 0, 0, word(WIDE - 65_535)));
}

function serveHttp1(socket: Socket): void {
  if (stuck)
    socket.once('data', () =>
      socket.write(Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${MUCH}\r\n\r\n`), Buffer.alloc(MUCH)])),
    );
}

async function byTarget(proxy: ProxyFixture): Promise<void> {
  const client = await Wire.to(proxy.port);
  const length = stuck ? MUCH : 0;
  client.send(`POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${length}\r\n\r\n`);
  client.send(Buffer.alloc(length));
  if (stuck) {
    await eventually('the request to arrive', () => sockets.at(-1)?.isPaused() === true);
    await untilStuck(() => client.socket.writableLength);
    const target = sockets.pop();
    target?.write(tornHead);
    await turn();
    if (write === 'left') {
      const before = closed;
      await eventually('the stream to be closed', () => {
        proxy.clock.pass(10_000);
        return closed > before;
      });
    }
    target?.resetAndDestroy();
  }
  await eventually('the answer', () => client.unread.startsWith('HTTP/1.1 50') || client.closed);
  client.socket.destroy();
}

async function byClient(client: Frames): Promise<void> {
  client.greet([INITIAL_WINDOW, WIDE]).send(FRAME.windowUpdate, 0, 0, word(WIDE - 65_535));
  client.request(1, REQUEST, 0).send(FRAME.data, 0, 1, 'hello');
  if (!stuck) {
    await eventually('the requests to arrive', () => sockets.length === Number(count));
    client.write(Buffer.concat([tornTrailers, goAway]));
    return;
  }
  await eventually('the answer', () => client.of(1, FRAME.headers).length > 0);
  client.socket.pause();
  await untilStuck(() => sockets.at(-1)?.writableLength ?? 0);
  sockets.pop();
  client.write(tornTrailers);
  await turn();
  if (secure === null) client.socket.resetAndDestroy();
  // This is a reset too, because it has not read everything.
  else client.socket.destroy();
}

const server = createServer((socket) => {
  sockets.push(socket);
  socket.on('error', () => socket.destroy());
  if (who === 'target') serveHttp2(socket);
  else serveHttp1(socket);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const address = server.address();
assert.ok(address !== null && typeof address === 'object');
const route = site('a.test', { address: `127.0.0.1:${address.port}` });
const secure = who === 'secure-client' ? await SecureFixture.of([route]) : null;
const proxy = secure?.proxy ?? (await ProxyFixture.start([who === 'target' ? { ...route, transport: { protocol: 'h2c' } } : route]));

const play = async (): Promise<void> =>
  who === 'target' ? byTarget(proxy) : byClient((await secure?.connect()) ?? (await Frames.plain(proxy.port)));
if (stuck) for (let round = 1; round <= Number(count); round++) await play();
else await Promise.all(Array.from({ length: Number(count) }, play));
await eventually('the streams to be closed', () => closed === Number(count) && proxy.ledger.inFlight.total() === 0);
const left = (): number => [...made].filter((one) => one.deref() !== undefined).length;
await eventually('nothing to be left', () => {
  // A peer that has left in the middle of a body must be waited for.
  proxy.clock.pass(10_000);
  globalThis.gc?.();
  return left() === 0;
}).catch(() => undefined);
process.stdout.write(`${closed} closed, ${left()} left\n`);
process.exit();
