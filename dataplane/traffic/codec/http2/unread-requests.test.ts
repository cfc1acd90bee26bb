// Runs alone: it tests what all connections of its process may have together.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setThreadMemory } from '../../../../shared/runtime/thread-memory.ts';
import { block, CODE, FLAG, FRAME, frame, head, INITIAL_WINDOW, PREFACE, word } from '../../testing/http2/frames.ts';
import { countQueued, muchIsQueued } from './limits/queued-requests.ts';
import { ReceiveWindow } from './limits/receive-window.ts';
import { PieceQueue } from './piece-queue.ts';
import { Http2Session } from './session.ts';
import type { SessionLimits, SessionOwner } from './session-owner.ts';
import type { Http2Stream } from './stream.ts';
import type { StreamReceiver } from './stream-receiver.ts';

/** What all requests of a thread may have waiting. */
const LIMIT = 67_108_864;
const MB = 1_048_576;
const CANCEL = CODE.cancel;
const CLIENT_LIMITS: SessionLimits = {
  isServer: false,
  streams: 0,
  streamWindow: 262_144,
  maxStreamWindow: 262_144,
  connectionWindow: MB,
  maxConnectionWindow: MB,
  maxUnread: Number.POSITIVE_INFINITY,
  fieldList: 65_536,
};
/** What has arrived is passed on, and what follows from that is sent. */
async function turns(): Promise<void> {
  for (let nth = 0; nth < 3; nth++) await new Promise((resolve) => setImmediate(resolve));
}

/** One side of a connection whose peer is the test, and the last stream that was opened on it. */
class Side implements SessionOwner {
  readonly session: Http2Session;
  stream: Http2Stream | null = null;
  readonly pieces: number[] = [];
  drains = 0;
  /** The Content-Length of requests; -1 without one. */
  length = -1;
  private readonly written: Buffer[] = [];

  constructor(isServer: boolean, t: TestContext) {
    t.after(() => this.session.lost(CANCEL));
    this.session = new Http2Session(this, { ...CLIENT_LIMITS, isServer, streams: isServer ? 128 : 0 });
    this.session.receive(Buffer.concat([Buffer.from(isServer ? PREFACE : ''), frame(FRAME.settings, 0, 0, noWindow())]));
  }

  /** By how much it has opened the window of its connection so far. */
  get opened(): number {
    const bytes = Buffer.concat(this.written);
    let opened = 0;
    for (let at = 0; at < bytes.length; at += 9 + bytes.readUIntBE(at, 3))
      if (bytes.readUInt8(at + 3) === FRAME.windowUpdate && bytes.readUInt32BE(at + 5) === 0) opened += bytes.readUInt32BE(at + 9);
    return opened;
  }

  /** Sends the head of a request to a target. */
  ask(): Http2Stream {
    const stream = this.session.open();
    assert.ok(stream !== null);
    stream.receiver = this.receiver(stream);
    stream.head({ status: 0, pseudo: head().flat(), lines: '', length: -1 }, false);
    return stream;
  }

  request(stream: Http2Stream): void {
    this.stream = stream;
    stream.expected = this.length;
    stream.receiver = this.receiver(stream);
  }

  /** Pauses after each piece, as if it had to wait for its target. */
  private receiver(stream: Http2Stream): StreamReceiver {
    return {
      data: (_buffer, from, to) => {
        this.pieces.push(to - from);
        stream.pause();
        return true;
      },
      ended: () => undefined,
      closed: () => undefined,
      drained: () => void this.drains++,
      onFault: (error) => {
        throw error;
      },
    };
  }

  response(): void {
    // No target responds here.
  }

  write(parts: readonly Buffer[]): boolean {
    this.written.push(...parts.map((part) => Buffer.from(part)));
    return true;
  }

  monotonic = (): number => 0;
  readComplete = (): void => undefined;
  holdBack = (): void => undefined;
  settingsChanged = (): void => undefined;
  goingAway = (): void => undefined;
  failed = (): void => undefined;
  finished = (): void => undefined;

  onFault(error: unknown): void {
    throw error;
  }
}

/** The setting of a peer on whose streams nothing may be sent yet. */
function noWindow(): Buffer {
  const setting = Buffer.alloc(6);
  setting.writeUInt16BE(INITIAL_WINDOW, 0);
  return setting;
}

/** From now on, until the test ends, this much more of other requests waits for targets. */
function othersWait(bytes: number, t: TestContext): void {
  countQueued(bytes);
  t.after(() => countQueued(-bytes));
}

const headers = (stream: number, flags: number): Buffer => frame(FRAME.headers, FLAG.endHeaders | flags, stream, block(head()));

test('while much waits for targets that do not read, a request waits with one piece, and goes on once that is sent', async (t) => {
  const target = new Side(false, t);
  const [first, second] = [target.ask(), target.ask()];
  assert.equal(first.write(Buffer.alloc(20_000), 0, 20_000), true);
  othersWait(LIMIT, t);
  assert.equal(second.write(Buffer.alloc(2_000), 0, 2_000), false);
  await turns();
  assert.equal(target.drains, 0);
  target.session.receive(frame(FRAME.windowUpdate, 0, second.id, word(2_000)));
  await turns();
  assert.equal(target.drains, 1);
  target.session.receive(frame(FRAME.windowUpdate, 0, second.id, word(4_000)));
  assert.equal(second.write(Buffer.alloc(4_000), 0, 4_000), true, 'what the target reads does not wait');
});

test('what waited for a target counts no longer once it is sent, or its stream or its connection has ended', async (t) => {
  const target = new Side(false, t);
  othersWait(LIMIT - 100, t);
  const streams = [target.ask(), target.ask(), target.ask()] as const;
  const isCounted = (): boolean => muchIsQueued();
  for (const stream of streams) stream.write(Buffer.alloc(1_000), 0, 1_000);
  assert.equal(isCounted(), true);
  const [sent, cancelled] = streams;
  sent.end('');
  target.session.receive(frame(FRAME.windowUpdate, 0, sent.id, word(1_000)));
  await turns();
  cancelled.reset(CANCEL);
  assert.equal(isCounted(), true);
  target.session.lost(CANCEL);
  assert.equal(isCounted(), false);
  countQueued(100);
  assert.equal(isCounted(), false, 'nothing counts twice');
  countQueued(1);
  assert.equal(isCounted(), true, 'nothing is given back twice');
  countQueued(-101);
});

test('a request is complete although much waits, and its last piece is given back once', async (t) => {
  const target = new Side(false, t);
  const stream = target.ask();
  othersWait(LIMIT, t);
  stream.write(Buffer.alloc(1_000), 0, 1_000);
  stream.end('');
  // The response is complete before the request is: the stream closes with its last piece.
  target.session.receive(frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream.id, block([[':status', '200']])));
  target.session.receive(frame(FRAME.windowUpdate, 0, stream.id, word(1_000)));
  await turns();
  assert.equal(stream.isClosed, true);
  assert.equal(muchIsQueued(), false);
  countQueued(1);
  assert.equal(muchIsQueued(), true);
  countQueued(-1);
});

test('while much waits for targets, a body is passed on in small pieces, so that little of it waits beyond that', async (t) => {
  const client = new Side(true, t);
  const sends = (stream: number): void =>
    client.session.receive(Buffer.concat([headers(stream, 0), frame(FRAME.data, 0, stream, Buffer.alloc(16_000))]));
  sends(1);
  assert.deepEqual(client.pieces, [16_000]);
  othersWait(LIMIT + 1, t);
  sends(3);
  await turns();
  assert.deepEqual(client.pieces, [16_000, 2_048]);
  client.stream?.resume();
  await turns();
  assert.deepEqual(client.pieces, [16_000, 2_048, 2_048]);
  countQueued(-MB);
  client.stream?.resume();
  await turns();
  countQueued(MB);
  assert.deepEqual(client.pieces, [16_000, 2_048, 2_048, 16_000 - 2 * 2_048]);
});

test('the window of a connection is wide once a request has a body, as long as there is memory for it', async (t) => {
  const connections = Array.from({ length: 20 }, () => new Side(true, t));
  setThreadMemory(256 * MB);
  t.after(() => setThreadMemory(Number.POSITIVE_INFINITY));
  const wide = async (): Promise<number> => {
    await turns();
    return connections.filter(({ opened }) => opened === MB - 65_535).length;
  };
  for (const { session } of connections) session.receive(headers(1, FLAG.endStream));
  assert.equal(await wide(), 0);
  for (const { session } of connections) session.receive(headers(3, 0));
  assert.equal(await wide(), 17);
  for (const { session } of connections.slice(0, 3)) session.lost(CANCEL);
  for (const { session } of connections.slice(17)) session.receive(headers(5, 0));
  assert.equal(await wide(), 20);
});

test('a small body leaves the window of its connection as it is', async (t) => {
  const [small, large, unknown] = [new Side(true, t), new Side(true, t), new Side(true, t)];
  for (const [side, length] of [
    [small, 16_384],
    [large, 16_385],
    [unknown, -1],
  ] as const) {
    side.length = length;
    side.session.receive(headers(1, 0));
  }
  await turns();
  assert.deepEqual([small.opened, large.opened, unknown.opened], [0, MB - 65_535, MB - 65_535]);
});

test('what is kept of a stream does not hold up others in the same window', () => {
  const window = new ReceiveWindow(65_535, 65_535, true);
  // 40,000 bytes stay unread; the rest is enough for others, however much they send.
  window.receive(40_000);
  let left = 25_535;
  for (let passed = 0; passed < 3_000_000; ) {
    const bytes = Math.min(left, 10_000);
    assert.ok(bytes > 0, `${passed} bytes have passed`);
    assert.ok(window.receive(bytes));
    passed += bytes;
    left += window.consume(bytes) - bytes;
  }
});

test('what was passed on and not announced yet is, once the rest of a shared window is kept', () => {
  const window = new ReceiveWindow(MB, MB, true);
  window.receive(500_000);
  assert.equal(window.consume(500_000), 0);
  assert.equal(window.reopen(), 0);
  window.receive(MB - 500_000);
  assert.equal(window.reopen(), 500_000);
  assert.equal(window.reopen(), 0);
});

test('a window that was widened grows only if it is used up', () => {
  const window = new ReceiveWindow(65_535, 4 * MB, true);
  window.receive(100);
  window.consume(100);
  const opened = window.widen(MB);
  assert.equal(opened, MB - 65_535);
  let more = 0;
  for (let passed = 0; passed < 2 * MB; passed += 10_000) {
    window.receive(10_000);
    more += window.consume(10_000) - 10_000;
  }
  assert.ok(more <= 0, `${more} bytes more than passed`);
  window.release();
});

test('a window that is used up grows, although what was kept is passed on piece by piece', () => {
  const window = new ReceiveWindow(262_144, MB);
  window.receive(262_144);
  assert.equal(window.consume(65_536), 0);
  assert.equal(window.consume(65_536), 131_072 + 262_144);
  window.release();
});

test('small bodies widen the window once they could fill it, or beside a tunnel of which much is unread', async (t) => {
  const post = (side: Side, stream: number, length: number): void => {
    side.length = length;
    side.session.receive(frame(FRAME.headers, FLAG.endHeaders, stream, block(head([':method', 'POST']))));
  };
  const many = new Side(true, t);
  for (let stream = 1; stream < 7; stream += 2) post(many, stream, 10_000);
  await turns();
  assert.equal(many.opened, 0);
  post(many, 7, 10_000);
  await turns();
  assert.equal(many.opened, MB - 65_535);
  const beside = new Side(true, t);
  const connect = head([':method', 'CONNECT'], [':protocol', 'websocket']);
  beside.session.receive(
    Buffer.concat([frame(FRAME.headers, FLAG.endHeaders, 1, block(connect)), frame(FRAME.data, 0, 1, Buffer.alloc(16_000))]),
  );
  beside.session.receive(frame(FRAME.data, 0, 1, Buffer.alloc(16_000)));
  await turns();
  assert.equal(beside.opened, 0);
  post(beside, 3, 5_000);
  await turns();
  assert.equal(beside.opened, MB - 65_535);
  const quiet = new Side(true, t);
  quiet.session.receive(frame(FRAME.headers, FLAG.endHeaders, 1, block(connect)));
  post(quiet, 3, 10);
  await turns();
  assert.equal(quiet.opened, MB - 65_535, 'the tunnel may fill it later');
  const later = new Side(true, t);
  later.session.receive(Buffer.concat([frame(FRAME.headers, FLAG.endHeaders, 1, block(connect)), frame(FRAME.reset, 0, 1, word(CANCEL))]));
  await turns();
  post(later, 3, 16_385);
  await turns();
  assert.equal(later.opened, MB - 65_535, 'a large body needs a wide one also after a tunnel');
  const tiny = new Side(true, t);
  post(tiny, 1, 100);
  tiny.session.receive(frame(FRAME.data, 0, 1, Buffer.alloc(50)));
  post(tiny, 3, 100);
  await turns();
  assert.equal(tiny.opened, 0);
});

test('no window grows while much waits for targets', (t) => {
  const opened = (): number => {
    const window = new ReceiveWindow(65_536, MB);
    window.receive(65_536);
    const more = window.consume(65_536) + window.widen(MB);
    window.release();
    return more;
  };
  assert.equal(opened(), MB);
  othersWait(LIMIT + 1, t);
  assert.equal(opened(), 65_536);
});

test('the part of a request that waits does not keep all that was read with it, but a longer one is not copied', (t) => {
  const read = Buffer.alloc(65_536);
  const memoryOf = (bytes: number): number | undefined => {
    const queue = new PieceQueue(true);
    t.after(() => queue.drop());
    queue.add(read, 0, bytes, false);
    return queue.first?.buffer.byteLength;
  };
  assert.equal(memoryOf(16_383), 16_383);
  assert.equal(memoryOf(16_384), 65_536);
  othersWait(LIMIT / 4, t);
  assert.equal(memoryOf(16_384), 16_384, 'once some waits');
  assert.equal(memoryOf(40_000), 65_536);
});

test('a few bytes that wait take little memory, and none once they are sent', (t) => {
  const queue = new PieceQueue(true);
  t.after(() => queue.drop());
  const one = Buffer.from('x');
  const memory = (): number => queue.first?.buffer.byteLength ?? 0;
  queue.add(one, 0, 1, true);
  queue.add(one, 0, 1, true);
  queue.sent(1);
  assert.ok(memory() <= 2, `${memory()} bytes`);
  queue.sent(1);
  queue.add(one, 0, 1, true);
  assert.equal(memory(), 1, 'it has no room of before');
  for (let bytes = 1; bytes < 60_000; bytes++) queue.add(one, 0, 1, true);
  let pieces = 0;
  for (; queue.first !== undefined; pieces++) queue.sent(queue.first.length);
  assert.ok(pieces < 30, `${pieces} pieces`);
});
