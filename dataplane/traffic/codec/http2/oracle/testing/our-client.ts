import { PREFACE } from '../../../../testing/frames.ts';
import { ResponseHead } from '../../../http1/response-head.ts';
import { ERROR } from '../../frame.ts';
import type { ResponseBlock } from '../../response-block.ts';
import { Http2Session } from '../../session.ts';
import type { SessionLimits, SessionOwner } from '../../session-owner.ts';
import type { Http2Stream } from '../../stream.ts';
import { type ConnectionReading, newReading, type ResponseReading, SentFrames } from './connection-reading.ts';

const LIMITS: SessionLimits = {
  isServer: false,
  streams: 0,
  streamWindow: 262_144,
  mostStreamWindow: 1_048_576,
  connectionWindow: 4_194_304,
  mostConnectionWindow: 16_777_216,
  fieldList: 65_536,
};
const NO_CONTENT = -1;

/** Test support: our session as a client that has sent complete requests, and notes what it is answered. */
export class OurClient implements SessionOwner {
  readonly reading: ConnectionReading<ResponseReading> = newReading();
  private readonly frames = new SentFrames(this.reading, PREFACE.length);
  private readonly head = new ResponseHead();
  private readonly session = new Http2Session(this, LIMITS);
  private readonly methods = new Map<number, string>();
  private fault: unknown = null;

  /** `methods` are those of the requests on streams 1, 3, 5 … */
  constructor(methods: readonly string[]) {
    for (const method of methods) {
      const stream = this.session.open();
      if (stream === null) throw new Error('the session opens no stream');
      this.methods.set(stream.id, method);
      this.receive(stream);
      const pseudo = [':method', method, ':scheme', 'http', ':authority', 'a.test', ':path', '/'];
      stream.head({ status: 0, pseudo, lines: '', length: NO_CONTENT }, true);
    }
    this.session.turn();
  }

  /** Reads bytes that were split at these places, in ascending order. */
  read(bytes: Buffer, cuts: readonly number[]): ConnectionReading<ResponseReading> {
    let from = 0;
    for (const to of [...cuts, bytes.length]) {
      // A copy, as from a socket: what is passed on must not depend on bytes that come later.
      if (to > from) this.session.receive(Buffer.from(bytes.subarray(from, to)));
      from = to;
    }
    this.session.turn();
    if (this.fault !== null) throw this.fault;
    return this.reading;
  }

  private receive(stream: Http2Stream): void {
    const reading: ResponseReading = { interim: [], head: '', body: '', trailers: '', complete: false };
    this.reading.messages.set(stream.id, reading);
    stream.receiver = {
      data: (buffer, start, end) => {
        reading.body += buffer.toString('latin1', start, end);
        return true;
      },
      ended: (trailers) => {
        reading.trailers = trailers;
        reading.complete = true;
      },
      closed: () => {
        // A response that is cut off is none.
        if (!reading.complete) this.reading.messages.delete(stream.id);
      },
      drained: () => undefined,
      onFault: (error) => {
        throw error;
      },
    };
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

  write(parts: readonly Buffer[]): boolean {
    for (const part of parts) this.frames.feed(part);
    return true;
  }

  onFault(error: unknown): void {
    this.fault = error;
  }

  monotonic(): number {
    return 0;
  }

  goingAway(): void {
    this.session.close();
  }

  wasRead(): void {
    // Responses are noted as they come.
  }

  request(): void {
    throw new Error('a server sends no requests');
  }

  settingsChanged(): void {
    // The session applies them.
  }

  failed(byPeer: boolean): void {
    // Otherwise GOAWAY has been noted.
    if (byPeer) this.reading.gone ??= ERROR.none;
  }

  finished(): void {
    // Nothing is left to do.
  }
}
