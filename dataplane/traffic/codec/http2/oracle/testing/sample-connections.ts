import { block, type Field, FLAG, FRAME, frame, head, PREFACE, SETTING, word } from '../../../../testing/frames.ts';
import type { SampleRandom } from '../../../http1/oracle/testing/sample-random.ts';

/** A frame before its length is written, so that no change of it tears the frames that follow. */
export type LooseFrame = { type: number; flags: number; stream: number; payload: Buffer };

/** Ends every connection: once it is answered, all frames before it have been read. */
export const LAST_PING = Buffer.from('the last');
const PRIORITY = Buffer.from([0, 0, 0, 0, 15]);
/** Bits that mean something in some frame (RFC 9113 6). */
const FLAGS = [FLAG.endStream, FLAG.endHeaders, FLAG.padded, FLAG.priority] as const;
const TYPES = [...Object.values(FRAME), 0x2f] as const;

const MORE: readonly (readonly Field[])[] = [
  [],
  [],
  [
    ['cookie', 'a=1'],
    ['x', 'y'],
    ['cookie', 'b=2'],
  ],
  [
    ['te', 'trailers'],
    ['accept', '*/*'],
  ],
  [
    ['x-empty', ''],
    ['x-twice', 'a'],
    ['x-twice', 'b'],
  ],
  [['host', 'a.test']],
  [
    ['x-high', 'caf\xe9'],
    ['x-tab', 'a\tb'],
  ],
];
/** Fields that make a request malformed, or that only look as if they did. */
const ODD: readonly Field[] = [
  ['X', 'upper'],
  ['x y', 'a'],
  ['x', ' a'],
  ['x', 'a\0'],
  ['connection', 'close'],
  ['te', 'gzip'],
  [':path', '/again'],
  [':status', '200'],
  ['host', 'b.test'],
  ['content-length', '3'],
  ['content-length', '-1'],
  ['transfer-encoding', 'chunked'],
  ['upgrade', 'x'],
];

const pick = <T>(random: SampleRandom, from: readonly T[]): T => from[random.below(from.length)] as T;

/** Random connections of a client: requests whose frames are mixed with those of others and with frames about the connection. */
export class SampleConnections {
  private readonly random: SampleRandom;
  private next = 1;

  constructor(random: SampleRandom) {
    this.random = random;
  }

  /** The frames after the preface and SETTINGS. About every second list is changed at one place or more. */
  frames(): LooseFrame[] {
    const { random } = this;
    const requests = Array.from({ length: 1 + random.below(4) }, () => this.request());
    const frames: LooseFrame[] = [];
    let opened = 0;
    for (let left = requests; left.length > 0; left = left.filter((one) => one.length > 0)) {
      // Streams open in the order of their identifiers (RFC 9113 5.1.1).
      const fresh = left.findIndex(([first]) => (first?.stream ?? 0) > opened);
      const from = left[random.below(fresh < 0 ? left.length : fresh + 1)] ?? [];
      do {
        const one = from.shift();
        if (one !== undefined) frames.push(one);
        opened = Math.max(opened, one?.stream ?? 0);
        // A header block is not interrupted.
      } while (from[0]?.type === FRAME.continuation);
      if (random.once(4)) frames.push(this.aside(opened));
    }
    for (let changes = random.once(2) ? 0 : 1 + random.below(3); changes > 0; changes--) this.change(frames);
    return frames;
  }

  private request(): LooseFrame[] {
    const { random } = this;
    const stream = this.next;
    this.next += random.once(8) ? 4 : 2;
    const body = random.once(2) ? null : 'body'.repeat(random.below(40));
    const fields = head([':method', body === null ? 'GET' : 'POST'], [':path', `/${random.below(100)}`], ...pick(random, MORE));
    if (body !== null && random.once(2)) fields.push(['content-length', `${body.length + (random.once(6) ? random.below(5) - 2 : 0)}`]);
    if (random.once(6)) fields.splice(random.once(2) ? fields.length : random.below(fields.length), 0, pick(random, ODD));
    const frames = this.headFrames(stream, fields, body === null);
    if (body === null) return frames;
    const trailers = random.once(3);
    for (let at = 0; at < body.length; ) {
      const size = 1 + random.below(body.length);
      frames.push(this.padded({ type: FRAME.data, flags: 0, stream, payload: Buffer.from(body.slice(at, at + size)) }));
      at += size;
    }
    if (trailers) frames.push(...this.headFrames(stream, random.once(6) ? [pick(random, ODD)] : [['x-sum', '7']], true));
    else frames.push({ type: FRAME.data, flags: FLAG.endStream, stream, payload: Buffer.alloc(0) });
    return frames;
  }

  private headFrames(stream: number, fields: readonly Field[], ends: boolean): LooseFrame[] {
    const { random } = this;
    let payload = block(fields);
    let flags = ends ? FLAG.endStream : 0;
    const rest: LooseFrame[] = [];
    for (let count = random.once(4) ? 1 + random.below(2) : 0; count > 0; count--) {
      const at = random.below(payload.length);
      rest.unshift({ type: FRAME.continuation, flags: 0, stream, payload: payload.subarray(at) });
      payload = payload.subarray(0, at);
    }
    const last = rest.at(-1);
    if (last === undefined) flags |= FLAG.endHeaders;
    else last.flags = FLAG.endHeaders;
    if (random.once(5)) {
      flags |= FLAG.priority;
      payload = Buffer.concat([PRIORITY, payload]);
    }
    return [this.padded({ type: FRAME.headers, flags, stream, payload }), ...rest];
  }

  private padded(one: LooseFrame): LooseFrame {
    if (!this.random.once(5)) return one;
    const padding = this.random.below(20);
    return { ...one, flags: one.flags | FLAG.padded, payload: Buffer.concat([Buffer.from([padding]), one.payload, Buffer.alloc(padding)]) };
  }

  /** A frame that changes nothing about the requests, unless it resets one. */
  private aside(opened: number): LooseFrame {
    const { random } = this;
    const stream = 1 + 2 * random.below((opened + 1) / 2);
    switch (random.below(7)) {
      case 0:
        return { type: FRAME.ping, flags: 0, stream: 0, payload: Buffer.alloc(8) };
      case 1:
        return { type: FRAME.windowUpdate, flags: 0, stream: random.once(2) ? 0 : stream, payload: word(1 + random.below(1_000)) };
      case 2:
        return {
          type: FRAME.settings,
          flags: 0,
          stream: 0,
          payload: Buffer.concat([Buffer.from([0, SETTING.initialWindow]), word(random.below(100_000))]),
        };
      case 3:
        return { type: FRAME.priority, flags: 0, stream, payload: PRIORITY };
      case 4:
        return { type: FRAME.reset, flags: 0, stream, payload: word(random.below(14)) };
      case 5:
        return { type: FRAME.priorityUpdate, flags: 0, stream: 0, payload: Buffer.concat([word(stream), Buffer.from('u=2')]) };
      default:
        return { type: 0x2f, flags: random.below(256), stream, payload: Buffer.from('unknown') };
    }
  }

  /** Changes the list at one place. */
  private change(frames: LooseFrame[]): void {
    const { random } = this;
    const at = random.below(frames.length);
    const one = frames[at];
    if (one === undefined) return;
    switch (random.below(8)) {
      case 0:
        one.flags ^= pick(random, FLAGS);
        return;
      case 1:
        one.stream = random.below(this.next + 2);
        return;
      case 2:
        one.type = pick(random, TYPES);
        return;
      case 3:
        frames.splice(at, 1);
        return;
      case 4:
        frames.splice(at, 0, { ...one });
        return;
      case 5:
        frames.splice(random.below(frames.length), 0, ...frames.splice(at, 1));
        return;
      case 6:
        one.payload = one.payload.subarray(0, random.below(one.payload.length + 1));
        return;
      default: {
        const bytes = Buffer.from(one.payload);
        if (bytes.length > 0) bytes[random.below(bytes.length)] = random.below(256);
        one.payload = bytes;
      }
    }
  }
}

/** What the client sends: the preface, SETTINGS and their acknowledgement, these frames, and the last PING. */
export const bytesOf = (frames: readonly LooseFrame[]): Buffer =>
  Buffer.concat([
    Buffer.from(PREFACE),
    frame(FRAME.settings, 0, 0),
    frame(FRAME.settings, FLAG.ack, 0),
    ...frames.map(({ type, flags, stream, payload }) => frame(type, flags, stream, payload)),
    frame(FRAME.ping, 0, 0, LAST_PING),
  ]);
