import { PREFACE } from '../../../../testing/http2/frames.ts';
import { ResponseHead } from '../../../http1/response-head.ts';
import { ERROR } from '../../frames/frame.ts';
import type { ResponseBlock } from '../../headers/response-block.ts';
import type { SessionLimits } from '../../session-owner.ts';
import type { Http2Stream } from '../../stream.ts';
import type { ResponseReading } from './connection-reading.ts';
import { RecordingSession } from './recording-session.ts';

const LIMITS: SessionLimits = {
  isServer: false,
  streams: 0,
  streamWindow: 262_144,
  maxStreamWindow: 1_048_576,
  connectionWindow: 4_194_304,
  maxConnectionWindow: 16_777_216,
  maxUnread: Number.POSITIVE_INFINITY,
  fieldList: 65_536,
};
const NO_CONTENT = -1;

/** Test support: our session as a client that has sent complete requests, and records the responses. */
export class OurClient extends RecordingSession<ResponseReading> {
  private readonly head = new ResponseHead();
  private readonly methods = new Map<number, string>();

  /** `methods` are those of the requests on streams 1, 3, 5 … */
  constructor(methods: readonly string[]) {
    super(LIMITS, PREFACE.length);
    for (const method of methods) {
      const stream = this.session.open();
      if (stream === null) throw new Error('the session opens no stream');
      this.methods.set(stream.id, method);
      this.record(stream, { interim: [], head: '', body: '', trailers: '', complete: false });
      const pseudo = [':method', method, ':scheme', 'http', ':authority', 'a.test', ':path', '/'];
      stream.head({ status: 0, pseudo, lines: '', length: NO_CONTENT }, true);
    }
    this.session.turn();
  }

  request(): void {
    throw new Error('a server sends no requests');
  }

  response(stream: Http2Stream, block: ResponseBlock, tooLarge: boolean): void {
    const reading = this.reading.messages.get(stream.id);
    if (reading === undefined) throw new Error(`there was no request on stream ${stream.id}`);
    if (tooLarge || !block.finish()) return stream.reset(ERROR.protocol);
    const { head } = this;
    const { lines, from, to } = block;
    if (head.parse(lines.bytes, from, to, null) !== null) return stream.reset(ERROR.protocol);
    const text = lines.bytes.toString('latin1', from, to);
    if (head.status < 200) {
      if (stream.inputEnded || head.status === 101) return stream.reset(ERROR.protocol);
      reading.interim.push(text);
      return;
    }
    const bodyless = head.bodyless(this.methods.get(stream.id) ?? '');
    const { contentLength } = head.fields;
    stream.headReceived = true;
    if (stream.inputEnded && contentLength > 0 && !bodyless) return stream.reset(ERROR.protocol);
    stream.expected = bodyless ? 0 : contentLength;
    reading.head = text;
    if (stream.inputEnded) reading.complete = true;
  }

  /** A response that is complete stays so, even if its stream is reset afterwards (RFC 9113 8.1). */
  protected forgets(): boolean {
    return false;
  }
}
