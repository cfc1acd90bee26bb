import { ERROR } from '../../frames/frame.ts';
import type { RequestBlock } from '../../headers/request-block.ts';
import type { ResponseBlock } from '../../headers/response-block.ts';
import { Http2Session } from '../../session.ts';
import type { SessionLimits, SessionOwner } from '../../session-owner.ts';
import type { Http2Stream } from '../../stream.ts';
import { type ConnectionReading, newReading, SentFrames } from './connection-reading.ts';

/** The parts of a message after its head. */
type BodyReading = { body: string; trailers: string; complete: boolean };

/** Test support: our session as one side of a connection, and what it understood of what the other side sent. */
export abstract class RecordingSession<T extends BodyReading> implements SessionOwner {
  readonly reading: ConnectionReading<T> = newReading();
  protected readonly session: Http2Session;
  private readonly frames: SentFrames;
  private fault: unknown = null;

  /** `preface` is the number of bytes that it sends before its first frame. */
  constructor(limits: SessionLimits, preface: number) {
    this.frames = new SentFrames(this.reading, preface);
    this.session = new Http2Session(this, limits);
  }

  /** Reads bytes that were split at these places, in ascending order. */
  read(bytes: Buffer, cuts: readonly number[]): ConnectionReading<T> {
    let from = 0;
    for (const to of [...cuts, bytes.length]) {
      // A copy, as from a socket: what is passed on must not depend on bytes that come later.
      if (to > from) this.session.receive(Buffer.from(bytes.subarray(from, to)));
      from = to;
    }
    this.session.turn();
    this.session.window.release();
    if (this.fault !== null) throw this.fault;
    return this.reading;
  }

  abstract request(stream: Http2Stream, block: RequestBlock, tooLarge: boolean): void;

  abstract response(stream: Http2Stream, block: ResponseBlock, tooLarge: boolean): void;

  /** Records the body and trailers of the message on a stream. A message that is incomplete in the end, or reset, is forgotten. */
  protected record(stream: Http2Stream, reading: T): void {
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
      closed: (code) => {
        if (!reading.complete || this.forgets(code)) this.reading.messages.delete(stream.id);
      },
      drained: () => undefined,
      onFault: (error) => {
        throw error;
      },
    };
  }

  /** Whether a complete message counts for nothing once its stream is closed with this code. */
  protected abstract forgets(code: number): boolean;

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

  readComplete(): void {
    // Messages are recorded as they come.
  }

  holdBack(): void {
    // It is never held back.
  }

  settingsChanged(): void {
    // The session applies them.
  }

  failed(byPeer: boolean): void {
    // Otherwise GOAWAY has been recorded.
    if (byPeer) this.reading.gone ??= ERROR.none;
  }

  finished(): void {
    // Nothing is left to do.
  }
}
