import { block, type Field, FLAG, FRAME, frame, SETTING, word } from '../../../../testing/http2/frames.ts';
import type { SampleRandom } from '../../../http1/oracle/testing/sample-random.ts';

/** A frame before its length is written, so that no change of it tears the frames that follow. */
export type LooseFrame = { type: number; flags: number; stream: number; payload: Buffer };

/** The last frame of every connection: once it is answered, all frames before it have been read. */
export const LAST_PING = Buffer.from('the last');
const PRIORITY = Buffer.from([0, 0, 0, 0, 15]);
/** Bits that mean something in some frame (RFC 9113 6). */
const FLAGS = [FLAG.endStream, FLAG.endHeaders, FLAG.padded, FLAG.priority] as const;
const TYPES = [...Object.values(FRAME), 0x2f] as const;

/** Random frames, for the connections of either side. */
export class SampleFrames {
  private readonly random: SampleRandom;

  constructor(random: SampleRandom) {
    this.random = random;
  }

  /** The frames of a header block, whose HEADERS may be padded, have a priority and be followed by CONTINUATION. */
  block(stream: number, fields: readonly Field[], ends: boolean): LooseFrame[] {
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

  /** The frames of a body, without an end. */
  body(stream: number, body: string): LooseFrame[] {
    const { random } = this;
    const frames: LooseFrame[] = [];
    for (let at = 0; at < body.length; ) {
      const size = 1 + random.below(body.length);
      frames.push(this.padded({ type: FRAME.data, flags: 0, stream, payload: Buffer.from(body.slice(at, at + size)) }));
      at += size;
    }
    return frames;
  }

  /** A frame that changes nothing about the messages, unless it resets a stream. `special`: one that only this side sends. */
  aside(stream: number, special: () => LooseFrame): LooseFrame {
    const { random } = this;
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
        return special();
      default:
        return { type: 0x2f, flags: random.below(256), stream, payload: Buffer.from('unknown') };
    }
  }

  private padded(one: LooseFrame): LooseFrame {
    if (!this.random.once(5)) return one;
    const padding = this.random.below(20);
    return { ...one, flags: one.flags | FLAG.padded, payload: Buffer.concat([Buffer.from([padding]), one.payload, Buffer.alloc(padding)]) };
  }

  /** Changes none of the frames, or a few of them at one place each. `streams` is more than any of their streams. */
  change(frames: LooseFrame[], streams: number): void {
    const { random } = this;
    for (let changes = random.once(2) ? 0 : 1 + random.below(3); changes > 0; changes--) this.changeOne(frames, streams);
  }

  private changeOne(frames: LooseFrame[], streams: number): void {
    const { random } = this;
    const at = random.below(frames.length);
    const one = frames[at];
    if (one === undefined) return;
    switch (random.below(8)) {
      case 0:
        one.flags ^= random.pick(FLAGS);
        return;
      case 1:
        one.stream = random.below(streams + 2);
        return;
      case 2:
        one.type = random.pick(TYPES);
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

/** What one side sends: its preface, SETTINGS and their acknowledgement, these frames, and the last PING. */
export const bytesOf = (preface: string, frames: readonly LooseFrame[]): Buffer =>
  Buffer.concat([
    Buffer.from(preface),
    frame(FRAME.settings, 0, 0),
    frame(FRAME.settings, FLAG.ack, 0),
    ...frames.map(({ type, flags, stream, payload }) => frame(type, flags, stream, payload)),
    frame(FRAME.ping, 0, 0, LAST_PING),
  ]);

export const shown = (frames: readonly LooseFrame[]): string =>
  frames.map(({ type, flags, stream, payload }) => `${type}/${flags} on ${stream}: ${payload.toString('hex')}`).join('\n');

/** Whether a PING or SETTINGS is acknowledged that was never sent. RFC 9113 6.5.3 and 6.7 let the connection continue; nghttp2 ends it. */
export const acknowledgesNothing = (frames: readonly LooseFrame[]): boolean =>
  frames.some(({ type, flags, stream }) => (type === FRAME.ping || type === FRAME.settings) && stream === 0 && (flags & FLAG.ack) !== 0);
