import { RequestHead } from '../../../http1/request-head.ts';
import { ERROR } from '../../frame.ts';
import type { RequestBlock } from '../../request-block.ts';
import { Http2Session } from '../../session.ts';
import type { SessionLimits, SessionOwner } from '../../session-owner.ts';
import type { Http2Stream } from '../../stream.ts';
import { type ConnectionReading, newReading, type RequestReading, SentFrames } from './connection-reading.ts';

const LIMITS: SessionLimits = {
  isServer: true,
  streams: 128,
  streamWindow: 262_144,
  mostStreamWindow: 1_048_576,
  connectionWindow: 1_048_576,
  mostConnectionWindow: 4_194_304,
  fieldList: 65_536,
};

/** Test support: our session as a server that answers nothing, and notes what it is asked. */
export class OurServer implements SessionOwner {
  readonly reading: ConnectionReading = newReading();
  private readonly frames = new SentFrames(this.reading, 0);
  private readonly head = new RequestHead();
  private readonly session = new Http2Session(this, LIMITS);
  private fault: unknown = null;

  /** Reads bytes that were split at these places, in ascending order. */
  read(bytes: Buffer, cuts: readonly number[]): ConnectionReading {
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

  request(stream: Http2Stream, block: RequestBlock, tooLarge: boolean): void {
    const refusal = tooLarge ? 'too large' : block.finish(stream.inputEnded, () => '0');
    const { lines, from, to } = block;
    if (refusal !== null || this.head.parse(lines.bytes, from, to) !== null || this.head.hostField === '' || !this.lengthFits(stream))
      return this.session.streamError(stream.id, ERROR.protocol);
    const reading: RequestReading = { head: lines.bytes.toString('latin1', from, to), body: '', trailers: '', complete: false };
    this.reading.messages.set(stream.id, reading);
    stream.expected = this.head.fields.contentLength;
    if (stream.inputEnded) reading.complete = true;
    stream.receiver = {
      data: (buffer, start, end) => {
        reading.body += buffer.toString('latin1', start, end);
        return true;
      },
      ended: (trailers) => {
        reading.trailers = trailers;
        reading.complete = true;
      },
      closed: (code) => {
        // A request that either side has reset is none.
        if (code !== ERROR.none || !reading.complete) this.reading.messages.delete(stream.id);
      },
      drained: () => undefined,
      onFault: (error) => {
        throw error;
      },
    };
  }

  private lengthFits({ inputEnded }: Http2Stream): boolean {
    return !inputEnded || this.head.fields.contentLength <= 0;
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
    // Requests are noted as they come.
  }

  response(): void {
    throw new Error('a client sends no responses');
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
