import assert from 'node:assert/strict';
import { test } from 'node:test';
import { block, CODE, type Field, FLAG, FRAME, frame, word } from '../../testing/http2/frames.ts';
import { inputsOf } from '../http1/oracle/testing/differential.ts';
import type { SampleRandom } from '../http1/oracle/testing/sample-random.ts';
import { Http2Session } from './session.ts';
import type { SessionLimits, SessionOwner } from './session-owner.ts';
import type { Http2Stream } from './stream.ts';

const WINDOW = 65_536;
const LIMITS: SessionLimits = {
  isServer: false,
  streams: 0,
  streamWindow: WINDOW,
  maxStreamWindow: WINDOW,
  connectionWindow: 262_144,
  maxConnectionWindow: 262_144,
  maxUnread: Number.POSITIVE_INFINITY,
  fieldList: 65_536,
};
const STEPS = 300;
const SIZES = [0, 1, 63, 64, 900, 1_023, 1_024, 5_000, 16_000];
const PADDING = [0, 1, 40, 255];

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const byteAt = (stream: number, at: number): number => (stream * 31 + at) % 251;

/** A target and its client, which read and end streams in any order. */
class Target implements SessionOwner {
  readonly session = new Http2Session(this, LIMITS);
  readonly streams: Http2Stream[] = [];
  failure: string | null = null;
  /** What the peer may still send on the connection, and what it has sent on each stream. */
  private window = 65_535;
  private readonly sent = new Map<number, number>();
  private readonly windows = new Map<number, number>();
  /** Streams on which the peer sends no more. */
  private readonly over = new Set<number>();
  private readonly random: SampleRandom;

  constructor(random: SampleRandom) {
    this.random = random;
    this.session.receive(Buffer.concat([frame(FRAME.settings, 0, 0), frame(FRAME.settings, FLAG.ack, 0)]));
  }

  open(): void {
    const stream = this.session.open();
    if (stream === null) return;
    const { id } = stream;
    let at = 0;
    stream.receiver = {
      data: (buffer, from, to) => {
        if (this.random.once(6)) return false;
        for (let read = from; read < to; read++) assert.equal(buffer[read], byteAt(id, at++), `byte ${at - 1} of stream ${id}`);
        if (this.random.once(3)) stream.pause();
        if (this.random.once(30)) stream.reset(CODE.cancel);
        return true;
      },
      ended: () => undefined,
      closed: () => undefined,
      drained: () => undefined,
      onFault: (error) => this.onFault(error),
    };
    stream.head({ status: 0, pseudo: [':method', 'GET', ':scheme', 'http', ':path', '/'], lines: '', length: -1 }, this.random.once(2));
    stream.headReceived = true;
    this.streams.push(stream);
    this.sent.set(id, 0);
    this.windows.set(id, WINDOW);
  }

  /** One event, of the peer or of the recipient of a body. */
  step(): void {
    const { random, streams } = this;
    if (streams.length === 0 || random.once(12)) return this.open();
    const stream = random.pick(streams);
    const { id } = stream;
    switch (random.below(12)) {
      case 0:
        return stream.reset(CODE.cancel);
      case 1:
        return this.random.once(4) ? this.receive(id, frame(FRAME.reset, 0, id, word(random.pick([0, CODE.cancel]))), true) : undefined;
      case 2:
        return stream.pause();
      case 3:
      case 4:
        return stream.resume();
      case 5:
        return random.once(3) ? this.receive(id, trailers(id), true) : undefined;
      default:
        return this.data(id);
    }
  }

  private data(id: number): void {
    const { random } = this;
    const padding = random.once(4) ? random.pick(PADDING) : null;
    const size = random.pick(SIZES);
    const length = padding === null ? size : size + padding + 1;
    const own = this.windows.get(id) ?? 0;
    if (this.over.has(id) || length > this.window || length > own) return;
    const start = this.sent.get(id) ?? 0;
    const content = Buffer.from(Array.from({ length: size }, (_, nth) => byteAt(id, start + nth)));
    const ends = random.once(10);
    this.window -= length;
    this.windows.set(id, own - length);
    this.sent.set(id, start + size);
    const flags = (ends ? FLAG.endStream : 0) | (padding === null ? 0 : FLAG.padded);
    const payload = padding === null ? content : Buffer.concat([Buffer.from([padding]), content, Buffer.alloc(padding)]);
    this.receive(id, frame(FRAME.data, flags, id, payload), ends);
  }

  /** In two pieces, either of which may be overwritten afterwards. */
  private receive(id: number, bytes: Buffer, ends: boolean): void {
    if (this.over.has(id)) return;
    if (ends) this.over.add(id);
    const cut = this.random.below(bytes.length + 1);
    for (const piece of [bytes.subarray(0, cut), bytes.subarray(cut)]) {
      const reused = this.random.once(2);
      const own = Buffer.from(piece);
      this.session.receive(own, reused);
      if (reused) own.fill(0xff);
    }
  }

  /** The end: no stream is needed any more. @returns what the peer may send, including what has not been announced. */
  async settle(): Promise<number> {
    for (const stream of this.streams) stream.reset(CODE.cancel);
    await turn();
    await turn();
    const unannounced: unknown = Reflect.get(this.session.window, 'consumed');
    return this.window + Number(unannounced);
  }

  write(parts: readonly Buffer[]): boolean {
    const bytes = Buffer.concat(parts);
    for (let at = bytes.indexOf('PRI * ') === 0 ? 24 : 0; at < bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
      if (bytes.readUInt8(at + 3) !== FRAME.windowUpdate) continue;
      const id = bytes.readUInt32BE(at + 5);
      const more = bytes.readUInt32BE(at + 9);
      if (id === 0) this.window += more;
      else this.windows.set(id, (this.windows.get(id) ?? 0) + more);
      assert.ok(this.window <= LIMITS.connectionWindow, 'the window of the connection is given back twice');
      assert.ok((this.windows.get(id) ?? 0) <= WINDOW, 'the window of a stream is given back twice');
    }
    return true;
  }

  monotonic(): number {
    return 0;
  }

  request(): void {
    throw new Error('a target sends no requests');
  }

  response(): void {
    // Its head has been read already.
  }

  readComplete(): void {
    // Each stream has been notified already.
  }

  holdBack(): void {
    // It is never held back.
  }

  settingsChanged(): void {
    // They are of no interest.
  }

  goingAway(): void {
    // It does not.
  }

  finished(): void {
    // It does not.
  }

  failed(_byPeer: boolean, reason: string): void {
    this.failure = reason;
  }

  onFault(error: unknown): void {
    throw error;
  }
}

const FIELDS: readonly Field[] = [['grpc-status', '0']];
const trailers = (id: number): Buffer => frame(FRAME.headers, FLAG.endStream | FLAG.endHeaders, id, block(FIELDS));

test('each byte of a body that is kept is given back once to the window of the connection, regardless of what happens to the body', async (t) => {
  for (const input of inputsOf(t, 60))
    try {
      const target = new Target(input.random);
      await turn();
      for (let step = 0; step < STEPS && target.failure === null; step++) {
        target.step();
        if (input.random.once(5)) await turn();
      }
      assert.equal(target.failure, null);
      assert.equal(await target.settle(), LIMITS.connectionWindow);
      for (const { id, advanced } of target.streams) assert.equal(advanced, 0, `stream ${id} still counts`);
    } catch (error) {
      throw input.failed(error instanceof Error ? (error.stack ?? error.message) : String(error));
    }
});
