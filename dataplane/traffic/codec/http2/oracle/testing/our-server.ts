import { RequestHead } from '../../../http1/request-head.ts';
import { ERROR } from '../../frames/frame.ts';
import type { RequestBlock } from '../../headers/request-block.ts';
import type { SessionLimits } from '../../session-owner.ts';
import type { Http2Stream } from '../../stream.ts';
import type { RequestReading } from './connection-reading.ts';
import { RecordingSession } from './recording-session.ts';

const LIMITS: SessionLimits = {
  isServer: true,
  streams: 128,
  streamWindow: 262_144,
  maxStreamWindow: 1_048_576,
  connectionWindow: 1_048_576,
  maxConnectionWindow: 4_194_304,
  maxUnread: Number.POSITIVE_INFINITY,
  fieldList: 65_536,
};

/** Test support: our session as a server that sends no responses and records the requests. */
export class OurServer extends RecordingSession<RequestReading> {
  private readonly head = new RequestHead();

  constructor() {
    super(LIMITS, 0);
  }

  request(stream: Http2Stream, block: RequestBlock, tooLarge: boolean): void {
    const refusal = tooLarge ? 'too large' : block.finish(stream.inputEnded, () => '0');
    const { lines, from, to } = block;
    if (refusal !== null || this.head.parse(lines.bytes, from, to) !== null || this.head.hostField === '' || !this.lengthFits(stream))
      return this.session.streamError(stream.id, ERROR.protocol);
    const head = lines.bytes.toString('latin1', from, to);
    stream.expected = this.head.fields.contentLength;
    this.record(stream, { head, body: '', trailers: '', complete: stream.inputEnded });
  }

  response(): void {
    throw new Error('a client sends no responses');
  }

  private lengthFits({ inputEnded }: Http2Stream): boolean {
    return !inputEnded || this.head.fields.contentLength <= 0;
  }

  /** Either side has reset the request. */
  protected forgets(code: number): boolean {
    return code !== ERROR.none;
  }
}
