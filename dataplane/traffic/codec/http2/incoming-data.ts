import { ERROR, FLAG } from './frames/frame.ts';
import { type IncomingSession, spend } from './incoming-session.ts';
import { COST, EARNED, MIN_USEFUL } from './limits/flood-budget.ts';
import { type Http2Stream, LARGE } from './stream.ts';

/** Passes the payloads of DATA frames on to their streams (RFC 9113 6.1). */
export class IncomingData {
  /** Whether the bytes that were read last contain bodies, and whether those have been passed on. */
  readsBodies = false;
  lendsBytes = false;
  private readonly session: IncomingSession;
  private reused = false;
  /** The frame that is being read: its stream, null if that is closed; what is left; how much of it is padding, -1 if unknown. */
  private stream: Http2Stream | null = null;
  private endsStream = false;
  private left = 0;
  private padding = 0;

  constructor(session: IncomingSession) {
    this.session = session;
  }

  /** Bytes are about to be read. `reused`: they are overwritten afterwards. */
  beginRead(reused: boolean): void {
    this.reused = reused;
    this.readsBodies = false;
    this.lendsBytes = false;
  }

  /** The payload of a frame belongs to no stream. */
  drop(): void {
    this.stream = null;
  }

  /** The header of a frame has arrived: its payload of `length` bytes follows in pieces, with its padding. */
  begins(flags: number, id: number, length: number): void {
    const { session } = this;
    this.stream = null;
    if (id === 0) return session.fail(ERROR.protocol, 'DATA on stream 0');
    if (!session.window.receive(length)) return session.fail(ERROR.flowControl, 'the window of the connection is exceeded');
    this.left = length;
    this.endsStream = (flags & FLAG.endStream) !== 0;
    const padded = (flags & FLAG.padded) !== 0;
    this.padding = padded ? -1 : 0;
    if (padded && length === 0) return session.fail(ERROR.frameSize, 'padding without its length');
    const stream = session.streams.get(id);
    if (stream === undefined) return this.onClosed(id, length);
    if (stream.inputEnded) return session.streamError(id, ERROR.streamClosed);
    if (!stream.headReceived) return session.streamError(id, ERROR.protocol);
    if (!stream.window.receive(length)) return session.streamError(id, ERROR.flowControl);
    if (length === 0 && !this.endsStream) spend(session, COST.empty);
    else if (length >= MIN_USEFUL) session.budget.earn(EARNED.data);
    this.stream = stream;
  }

  /** Frames may still be under way for a stream that we have reset; for any other they are wrong (RFC 9113 5.1). */
  private onClosed(id: number, length: number): void {
    const { session } = this;
    if (session.isIdle(id)) return session.fail(ERROR.protocol, 'DATA on an idle stream');
    if (session.closed.get(id) === false) return session.fail(ERROR.streamClosed, 'DATA on a closed stream');
    // What a server has sent before it learns that we have cancelled a request is a body like any other.
    if (session.limits.isServer || (length < MIN_USEFUL && session.resets.waitingCount === 0)) spend(session, COST.ignored);
  }

  /** A piece of its payload, valid during the call. */
  piece(buffer: Buffer, from: number, to: number): void {
    const { session, stream } = this;
    let at = from;
    if (this.padding < 0) {
      this.padding = buffer[at++] as number;
      this.left--;
      if (this.padding > this.left) return session.fail(ERROR.protocol, 'more padding than the frame holds');
      if (this.left === this.padding && !this.endsStream) spend(session, COST.empty);
    }
    const end = Math.min(to, at + this.left - this.padding);
    const content = Math.max(0, end - at);
    this.left -= to - at;
    const unused = to - from - content;
    if (stream === null || stream.isClosed) return session.discard(to - from);
    if (unused > 0) stream.discard(unused);
    if (content === 0) return;
    this.readsBodies = true;
    this.lendsBytes ||= !this.reused && content >= LARGE;
    if (stream.receive(buffer, at, end, this.reused)) return;
    // RFC 9113 8.1.1: the body is longer than its Content-Length.
    session.discard(content);
    session.streamError(stream.id, ERROR.protocol);
  }

  /** The frame is complete. */
  ends(): void {
    const { stream, session } = this;
    this.stream = null;
    if (stream === null || stream.isClosed || !this.endsStream) return;
    // RFC 9113 8.1.1: the body is shorter than its Content-Length.
    if (!stream.endInput('')) session.streamError(stream.id, ERROR.protocol);
  }
}
