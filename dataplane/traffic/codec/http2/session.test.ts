import assert from 'node:assert/strict';
import { test } from 'node:test';
import { block, CODE, type Field, FLAG, FRAME, frame, head, PREFACE, word } from '../../testing/http2/frames.ts';
import { ReceiveWindow } from './limits/receive-window.ts';
import { readPriority } from './priority/priority.ts';
import { Http2Session } from './session.ts';
import type { SessionLimits, SessionOwner } from './session-owner.ts';
import type { Http2Stream } from './stream.ts';
import type { StreamReceiver } from './stream-receiver.ts';

const WINDOW = 262_144;
const LIMITS: SessionLimits = {
  isServer: true,
  streams: 128,
  streamWindow: WINDOW,
  maxStreamWindow: WINDOW,
  connectionWindow: 1_048_576,
  maxConnectionWindow: 1_048_576,
  maxUnread: Number.POSITIVE_INFINITY,
  fieldList: 65_536,
};
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** One side of a connection whose peer is the test. */
class Side implements SessionOwner {
  readonly session: Http2Session;
  readonly opened: Http2Stream[] = [];
  /** The streams whose receivers were notified of their end. */
  readonly closedStreams: number[] = [];
  accepts = true;
  written = 0;
  recorded: Buffer[] | null = null;
  failure: string | null = null;
  now = 0;

  constructor(isServer: boolean) {
    this.session = new Http2Session(this, isServer ? LIMITS : { ...LIMITS, isServer, streams: 0 });
    this.session.receive(
      Buffer.concat([Buffer.from(isServer ? PREFACE : ''), frame(FRAME.settings, 0, 0), frame(FRAME.settings, FLAG.ack, 0)]),
    );
  }

  monotonic(): number {
    return this.now;
  }

  write(parts: readonly Buffer[]): boolean {
    for (const { length } of parts) this.written += length;
    this.recorded?.push(...parts);
    return this.accepts;
  }

  /** Type and stream of each frame that was recorded. */
  get frames(): readonly (readonly [type: number, stream: number])[] {
    const bytes = Buffer.concat(this.recorded ?? []);
    const frames: [number, number][] = [];
    for (let at = 0; at < bytes.length; at += 9 + bytes.readUIntBE(at, 3))
      frames.push([bytes.readUInt8(at + 3), bytes.readUInt32BE(at + 5)]);
    return frames;
  }

  request(stream: Http2Stream): void {
    stream.receiver = this.receiver(stream);
    this.opened.push(stream);
  }

  response(stream: Http2Stream): void {
    stream.headReceived = true;
  }

  /** A request without a body, whose response is discarded. */
  ask(): Http2Stream {
    const stream = this.session.open();
    assert.ok(stream !== null);
    stream.receiver = this.receiver(stream);
    stream.head({ status: 0, pseudo: head().flat(), lines: '', length: -1 }, true);
    return stream;
  }

  private receiver(stream: Http2Stream): StreamReceiver {
    return {
      data: () => true,
      ended: () => undefined,
      closed: () => void this.closedStreams.push(stream.id),
      drained: () => undefined,
      onFault: (error) => {
        throw error;
      },
    };
  }

  readComplete(): void {
    // The streams have been notified.
  }

  holdBack(): void {
    // It is never held back.
  }

  settingsChanged(): void {
    // The session has applied them.
  }

  goingAway(): void {
    // The session completes its streams.
  }

  failed(_byPeer: boolean, reason: string): void {
    this.failure = reason;
  }

  finished(): void {
    this.failure = 'finished';
  }

  onFault(error: unknown): void {
    throw error;
  }
}

const OK: Field = [':status', '200'];
const headers = (stream: number, flags: number, ...fields: readonly Field[]): Buffer =>
  frame(FRAME.headers, FLAG.endHeaders | flags, stream, block(fields));

test('a response that is only a head frees its stream', () => {
  const client = new Side(false);
  for (let nth = 0; nth < 50; nth++) {
    const { id } = client.ask();
    client.session.receive(headers(id, FLAG.endStream, OK));
  }
  assert.equal(client.session.streams.size, 0);
  assert.equal(client.closedStreams.length, 50);
});

test('a complete response that was kept for a slow reader and is cancelled gives its room in the window back', () => {
  const client = new Side(false);
  for (let nth = 0; nth < 20; nth++) {
    const stream = client.ask();
    client.session.receive(headers(stream.id, 0, OK));
    stream.pause();
    for (let at = 0; at < 15; at++) client.session.receive(frame(FRAME.data, 0, stream.id, Buffer.alloc(16_384)));
    client.session.receive(frame(FRAME.data, FLAG.endStream, stream.id));
    assert.equal(client.session.streams.has(stream.id), false);
    stream.reset(CODE.cancel);
  }
  assert.equal(client.failure, null);
});

test('late heads for cancelled requests neither end the connection nor cost much, however many there are', () => {
  const client = new Side(false);
  const streams = Array.from({ length: 400 }, () => client.ask());
  for (const stream of streams) stream.reset(CODE.cancel);
  for (const { id } of streams) client.session.receive(headers(id, FLAG.endStream, OK));
  assert.equal(client.failure, null);
});

test('requests above the last stream of a GOAWAY were not processed, even if it names an error (RFC 9113 6.8)', () => {
  const client = new Side(false);
  const streams = [client.ask(), client.ask(), client.ask()];
  client.session.receive(frame(FRAME.goAway, 0, 0, Buffer.concat([word(1), word(CODE.calm)])));
  assert.deepEqual(
    streams.map(({ code }) => code),
    [CODE.calm, CODE.refused, CODE.refused],
  );
});

test('a client that reads nothing is disconnected before many replies have piled up', async () => {
  const server = new Side(true);
  await turn();
  server.accepts = false;
  server.session.receive(headers(1, 0, ...head([':method', 'POST'])));
  for (let nth = 0; nth < 20_000 && server.failure === null; nth++) {
    server.session.receive(
      Buffer.concat([
        frame(FRAME.ping, 0, 0, Buffer.alloc(8)),
        ...Array.from({ length: 2 }, () => frame(FRAME.data, 0, 1, Buffer.alloc(64))),
      ]),
    );
    if (nth % 10 === 0) await turn();
  }
  assert.ok(server.failure !== null);
  assert.ok(server.written < 100_000, `${server.written} bytes`);
});

test('a body in tiny pieces waits in few buffers', async () => {
  const server = new Side(true);
  server.session.receive(headers(1, FLAG.endStream, ...head()));
  await turn();
  server.accepts = false;
  const [stream] = server.opened;
  assert.ok(stream !== undefined);
  stream.head({ status: 200, pseudo: null, lines: '', length: -1 }, false);
  await turn();
  const letters = Buffer.from('abcdefghij');
  let more = true;
  for (let at = 0; more; at++) more = stream.write(letters, at % 10, (at % 10) + 1);
  const before = server.written;
  server.accepts = true;
  server.session.receive(frame(FRAME.windowUpdate, 0, 0, word(1_000_000)));
  server.session.receive(frame(FRAME.windowUpdate, 0, 1, word(1_000_000)));
  server.session.drained();
  await turn();
  // A frame for each would need nine bytes more for each.
  assert.ok(server.written - before < 66_000, `${server.written - before} bytes`);
});

test('streams that close while nothing can be sent don’t wait to be sent', async () => {
  const server = new Side(true);
  await turn();
  server.accepts = false;
  server.session.receive(headers(1, FLAG.endStream, ...head()));
  server.opened[0]?.head({ status: 200, pseudo: null, lines: '', length: -1 }, false);
  await turn();
  for (let id = 3; id < 203; id += 2) {
    server.session.receive(headers(id, FLAG.endStream, ...head()));
    const stream = server.opened.at(-1);
    stream?.write(Buffer.alloc(10), 0, 10);
    assert.equal(stream?.isQueued, true);
    server.session.receive(frame(FRAME.reset, 0, id, word(CODE.cancel)));
    assert.equal(stream?.isQueued, false);
  }
});

test('a request that is cancelled before its head was sent is not reset: for the server, its stream is idle', async () => {
  const client = new Side(false);
  await turn();
  client.accepts = false;
  const sent = client.ask();
  await turn();
  const unsent = client.ask();
  assert.equal(unsent.isQueued, true);
  client.recorded = [];
  for (const stream of [sent, unsent]) stream.reset(CODE.cancel);
  client.accepts = true;
  client.session.drained();
  await turn();
  const later = client.ask();
  await turn();
  assert.deepEqual(client.frames, [
    [FRAME.reset, sent.id],
    [FRAME.headers, later.id],
  ]);
  assert.deepEqual(client.closedStreams, [sent.id, unsent.id]);
});

test('trailers of a request that came after the last GOAWAY are ignored like the request', async () => {
  const server = new Side(true);
  server.session.receive(headers(1, FLAG.endStream, ...head()));
  server.session.close();
  server.now = 2_000;
  server.session.sweep(2_000);
  server.session.receive(Buffer.concat([headers(3, 0, ...head([':method', 'POST'])), headers(3, FLAG.endStream, ['x', 'y'])]));
  await turn();
  assert.equal(server.failure, null);
  assert.equal(server.opened.length, 1);
});

test('windows that open byte by byte cost more than they earn', () => {
  const server = new Side(true);
  server.session.receive(frame(FRAME.settings, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0])));
  server.session.receive(headers(1, FLAG.endStream, ...head()));
  const [stream] = server.opened;
  stream?.head({ status: 200, pseudo: null, lines: '', length: -1 }, false);
  stream?.write(Buffer.alloc(60_000), 0, 60_000);
  for (let nth = 0; nth < 12_000 && server.failure === null; nth++) server.session.receive(frame(FRAME.windowUpdate, 0, 1, word(1)));
  assert.match(server.failure ?? '', /too many frames/);
});

test('responses to requests that were cancelled before they arrived do not count as a flood', () => {
  const client = new Side(false);
  for (let nth = 0; nth < 4_000 && client.failure === null; nth++) {
    const { id } = client.ask();
    client.session.streams.get(id)?.reset(CODE.cancel);
    client.session.receive(Buffer.concat([headers(id, 0, [':status', '200']), frame(FRAME.data, FLAG.endStream, id, 'x')]));
  }
  assert.equal(client.failure, null);
});

for (const isServer of [true, false])
  test(`a ${isServer ? 'client' : 'server'} that measures the connection with a PING for each small message it gets is not flooding`, () => {
    const side = new Side(isServer);
    if (isServer) side.session.receive(headers(1, FLAG.endStream, ...head()));
    const stream = isServer ? side.opened[0] : side.session.open();
    assert.ok(stream != null);
    stream.head({ status: isServer ? 200 : 0, pseudo: isServer ? null : head([':method', 'POST']).flat(), lines: '', length: -1 }, false);
    const received = [frame(FRAME.windowUpdate, 0, 0, word(20)), frame(FRAME.windowUpdate, 0, 1, word(20))];
    for (let nth = 0; nth < 4_000 && side.failure === null; nth++) {
      stream.write(Buffer.alloc(20), 0, 20);
      side.session.receive(Buffer.concat([...received, frame(FRAME.ping, 0, 0, Buffer.alloc(8))]));
    }
    assert.equal(side.failure, null);
  });

test('PRIORITY_UPDATE frames that never end exhaust the budget of their connection', () => {
  const side = new Side(true);
  const update = frame(FRAME.priorityUpdate, 0, 0, Buffer.concat([Buffer.from([0, 0, 0, 1]), Buffer.from('u=3,'.repeat(15))]));
  for (let nth = 0; nth < 2_100; nth++) side.session.receive(update);
  assert.equal(side.failure, 'too many frames that change nothing');
});

test('a long Priority value is not read', () => {
  assert.deepEqual(readPriority(`${'a,'.repeat(40)}u=0`), { urgency: 3, incremental: false });
  assert.deepEqual(readPriority('u=0, i'), { urgency: 0, incremental: true });
  assert.deepEqual(readPriority('u=9, i=?0, x'), { urgency: 3, incremental: false });
});

test('a released window no longer grows, so that no part of the shared allowance is lost', () => {
  for (let nth = 0; nth < 200; nth++) {
    const window = new ReceiveWindow(1_048_576, 4_194_304);
    window.release();
    window.receive(1_000_000);
    window.consume(1_000_000);
  }
  const window = new ReceiveWindow(1_048_576, 4_194_304);
  window.receive(1_000_000);
  assert.equal(window.consume(1_000_000), 2_048_576);
  window.release();
});

test('a response that begins to be sent does not use up the window that others wait for', async () => {
  const server = new Side(true);
  const window = (stream: number, bytes: number): Buffer => {
    const payload = Buffer.alloc(4);
    payload.writeUInt32BE(bytes);
    return frame(FRAME.windowUpdate, 0, stream, payload);
  };
  for (const id of [1, 3]) {
    server.session.receive(headers(id, FLAG.endStream, ...head()));
    server.session.receive(window(id, 1_000_000));
  }
  const [first, second] = server.opened;
  assert.ok(first !== undefined && second !== undefined);
  for (const stream of [first, second]) stream.head({ status: 200, pseudo: null, lines: '', length: -1 }, false);
  // All of the connection's window, and more that waits.
  first.write(Buffer.alloc(100_000), 0, 100_000);
  await turn();
  const waits = first.queued;
  server.session.receive(window(0, 10_000));
  second.write(Buffer.alloc(5_000), 0, 5_000);
  assert.equal(second.queued, 5_000);
  await turn();
  assert.equal(first.queued, waits - 10_000);
  assert.equal(second.queued, 5_000);
});

test('a body that is kept takes nothing from the window of the connection to a target, and gives nothing back twice', async () => {
  const client = new Side(false);
  const asked = [client.ask(), client.ask()];
  for (const stream of asked) stream.pause();
  await turn();
  client.recorded = [];
  for (const { id } of asked) client.session.receive(headers(id, 0, [':status', '200']));
  for (const { id } of asked)
    for (let sent = 0; sent < WINDOW; sent += 16_384) client.session.receive(frame(FRAME.data, 0, id, Buffer.alloc(16_384)));
  await turn();
  const opened = (): number =>
    client.recorded === null ? 0 : updates(Buffer.concat(client.recorded)).reduce((sum, bytes) => sum + bytes, 0);
  // Half of the window or less is not announced.
  assert.ok(opened() >= LIMITS.connectionWindow / 2, `${opened()}`);
  asked[0]?.resume();
  asked[1]?.reset(CODE.cancel);
  await turn();
  assert.ok(opened() <= 2 * WINDOW, `${opened()}`);
});

/** The increments of the connection's window among frames. */
function updates(bytes: Buffer): number[] {
  const increments: number[] = [];
  for (let at = 0; at < bytes.length; at += 9 + bytes.readUIntBE(at, 3))
    if (bytes.readUInt8(at + 3) === FRAME.windowUpdate && bytes.readUInt32BE(at + 5) === 0) increments.push(bytes.readUInt32BE(at + 9));
  return increments;
}
