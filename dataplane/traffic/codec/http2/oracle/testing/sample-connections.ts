import { type Field, FLAG, FRAME, head, PREFACE, word } from '../../../../testing/http2/frames.ts';
import type { SampleRandom } from '../../../http1/oracle/testing/sample-random.ts';
import { bytesOf, type LooseFrame, SampleFrames } from './sample-frames.ts';

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

/** Random connections of a client: requests whose frames are mixed with those of others and with frames about the connection. */
export class SampleConnections {
  private readonly random: SampleRandom;
  private readonly sample: SampleFrames;
  private next = 1;

  constructor(random: SampleRandom) {
    this.random = random;
    this.sample = new SampleFrames(random);
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
    this.sample.change(frames, this.next);
    return frames;
  }

  private request(): LooseFrame[] {
    const { random } = this;
    const stream = this.next;
    this.next += random.once(8) ? 4 : 2;
    const body = random.once(2) ? null : 'body'.repeat(random.below(40));
    const fields = head([':method', body === null ? 'GET' : 'POST'], [':path', `/${random.below(100)}`], ...random.pick(MORE));
    if (body !== null && random.once(2)) fields.push(['content-length', `${body.length + (random.once(6) ? random.below(5) - 2 : 0)}`]);
    if (random.once(6)) fields.splice(random.once(2) ? fields.length : random.below(fields.length), 0, random.pick(ODD));
    const frames = this.sample.block(stream, fields, body === null);
    if (body === null) return frames;
    const trailers = random.once(3);
    frames.push(...this.sample.body(stream, body));
    if (trailers) frames.push(...this.sample.block(stream, random.once(6) ? [random.pick(ODD)] : [['x-sum', '7']], true));
    else frames.push({ type: FRAME.data, flags: FLAG.endStream, stream, payload: Buffer.alloc(0) });
    return frames;
  }

  private aside(opened: number): LooseFrame {
    const stream = 1 + 2 * this.random.below((opened + 1) / 2);
    return this.sample.aside(stream, () => ({
      type: FRAME.priorityUpdate,
      flags: 0,
      stream: 0,
      payload: Buffer.concat([word(stream), Buffer.from('u=2')]),
    }));
  }
}

/** What a client sends. */
export const requestBytes = (frames: readonly LooseFrame[]): Buffer => bytesOf(PREFACE, frames);
