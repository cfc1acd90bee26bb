import { type Field, FLAG, FRAME, word } from '../../../../testing/http2/frames.ts';
import type { SampleRandom } from '../../../http1/oracle/testing/sample-random.ts';
import { bytesOf, type LooseFrame, SampleFrames } from './sample-frames.ts';

const STATUSES = ['200', '200', '200', '204', '206', '304', '404', '500', '600', '999'] as const;
const INTERIM = ['100', '102', '103'] as const;
/** The largest identifier: the first GOAWAY of a graceful shutdown names it (RFC 9113 6.8). */
const ALL_STREAMS = 2 ** 31 - 1;
const MORE: readonly (readonly Field[])[] = [
  [],
  [['server', 'x']],
  [
    ['set-cookie', 'a=1'],
    ['x', 'y'],
    ['set-cookie', 'b=2'],
  ],
  [
    ['x-empty', ''],
    ['x-twice', 'a'],
    ['x-twice', 'b'],
  ],
  [
    ['x-high', 'caf\xe9'],
    ['x-tab', 'a\tb'],
  ],
  [['content-type', 'text/event-stream']],
];
/** Fields that make a response malformed, or that only look as if they did. */
const ODD: readonly Field[] = [
  ['X', 'upper'],
  ['x y', 'a'],
  ['x', ' a'],
  ['x', 'a\0'],
  ['x', 'a\r\nb: c'],
  ['connection', 'close'],
  ['te', 'trailers'],
  [':path', '/'],
  [':status', '200'],
  [':status', '20'],
  [':status', '101'],
  ['host', 'b.test'],
  ['content-length', '3'],
  ['content-length', '-1'],
  ['content-length', '+3'],
  ['transfer-encoding', 'chunked'],
  ['upgrade', 'x'],
];

/** Random connections of a server: responses whose frames are mixed with those of others and with frames about the connection. */
export class SampleResponses {
  private readonly random: SampleRandom;
  private readonly sample: SampleFrames;
  private readonly methods: readonly string[];

  /** `methods` are those of the requests on streams 1, 3, 5 … */
  constructor(random: SampleRandom, methods: readonly string[]) {
    this.random = random;
    this.sample = new SampleFrames(random);
    this.methods = methods;
  }

  /** The frames after SETTINGS. About every second list is changed at one place or more. */
  frames(): LooseFrame[] {
    const { random } = this;
    const frames: LooseFrame[] = [];
    const responses = this.methods.map((method, at) => this.response(1 + 2 * at, method));
    for (let left = responses; left.length > 0; left = left.filter((one) => one.length > 0)) {
      const from = random.pick(left);
      do {
        const one = from.shift();
        if (one !== undefined) frames.push(one);
        // A header block is not interrupted.
      } while (from[0]?.type === FRAME.continuation);
      if (random.once(4)) frames.push(this.aside());
    }
    this.sample.change(frames, 2 * this.methods.length);
    return frames;
  }

  private response(stream: number, method: string): LooseFrame[] {
    const { random, sample } = this;
    const interim: LooseFrame[] = [];
    while (random.once(4)) interim.push(...sample.block(stream, this.fields(random.pick(INTERIM)), false));
    const status = random.pick(STATUSES);
    const bodyless = method === 'HEAD' || status === '204' || status === '304';
    const body = (bodyless && !random.once(10)) || random.once(4) ? '' : 'body'.repeat(random.below(40));
    const fields = this.fields(status);
    // Also where there is no body (RFC 9110 8.6).
    const length = bodyless && random.once(2) ? random.below(100) : body.length + (random.once(6) ? random.below(5) - 2 : 0);
    if (random.once(2)) fields.push(['content-length', `${length}`]);
    if (body === '' && random.once(2)) return [...interim, ...sample.block(stream, fields, true)];
    const frames = [...interim, ...sample.block(stream, fields, false), ...sample.body(stream, body)];
    if (random.once(3)) frames.push(...sample.block(stream, random.once(6) ? [random.pick(ODD)] : [['x-sum', '7']], true));
    else frames.push({ type: FRAME.data, flags: FLAG.endStream, stream, payload: Buffer.alloc(0) });
    return frames;
  }

  private fields(status: string): Field[] {
    const { random } = this;
    const fields: Field[] = [[':status', status], ...random.pick(MORE)];
    if (random.once(6)) fields.splice(random.once(2) ? fields.length : random.below(fields.length), 0, random.pick(ODD));
    return fields;
  }

  private aside(): LooseFrame {
    const { random } = this;
    const stream = 1 + 2 * random.below(this.methods.length);
    return this.sample.aside(stream, () => ({
      type: FRAME.goAway,
      flags: 0,
      stream: 0,
      payload: Buffer.concat([word(random.once(3) ? stream : ALL_STREAMS), word(0)]),
    }));
  }
}

/** What a server sends. */
export const responseBytes = (frames: readonly LooseFrame[]): Buffer => bytesOf('', frames);
