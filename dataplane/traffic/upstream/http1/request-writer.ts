import type { Socket } from 'node:net';
import { CHUNKED, type Exchange, SMALL_PIECE } from '../../exchange/exchange.ts';
import type { DirectSocket } from '../../io/direct-socket.ts';
import { surviveFailedWrites } from '../../io/failed-writes.ts';
import { requestHead } from '../request-text.ts';

/**
 * Writes requests to a target: heads, framing and bodies, in one write per piece. A target may refuse a
 * body before it has read it and close; its response is then still unread in the socket while the next write fails. Node
 * destroys a socket whose write fails, with its unread data. So while a body is written, write errors are handled here:
 * nothing more is written, and reading continues to the end.
 */
export class RequestWriter {
  /** Whether a write has failed: nothing more reaches the target. */
  failed = false;
  /** Whether the target had not yet closed its side properly. */
  cut = false;
  private readonly direct: DirectSocket;
  private readonly socket: Socket;
  private readonly onFailure: () => void;
  private survivesFailures = false;
  private streaming = false;

  /** `onFailure` is called when nothing more can be written. */
  constructor(direct: DirectSocket, onFailure: () => void) {
    this.direct = direct;
    this.socket = direct.socket;
    this.onFailure = onFailure;
  }

  /** From here on a failed write is never reported to the socket. */
  private surviveWriteFailures(): void {
    this.survivesFailures = true;
    surviveFailedWrites(this.direct, (error) => {
      if (!this.streaming) return false;
      if (this.failed) return true;
      this.failed = true;
      // Linux: EPIPE where the reset came after the target's orderly end, ECONNRESET where it came instead of one.
      this.cut = !('code' in error) || error.code !== 'EPIPE';
      this.onFailure();
      return true;
    });
  }

  /** Writes the head and a buffered body. @returns whether that completes the request. */
  begin(x: Exchange): boolean {
    const { direct } = this;
    const { held } = x;
    const head = requestHead(x);
    const whole = held !== null || x.bodyLength === 0;
    this.streaming = !whole;
    if (!whole && !this.survivesFailures) this.surviveWriteFailures();
    if (held !== null && x.bodyLength === CHUNKED) this.writeChunks(x, head, held);
    else if (held === null || held.length === 0) direct.write(head);
    else if (held.length <= SMALL_PIECE) direct.write(head + held.toString('latin1'));
    else direct.writeBoth(head, held);
    return whole;
  }

  /** A body that has been sent over HTTP/2 as it arrived. */
  private writeChunks(x: Exchange, head: string, held: Buffer): void {
    this.direct.write(head);
    if (held.length > 0) this.body(x, held, 0, held.length);
    this.end(x, '');
  }

  /** @returns false when the client should pause. After a failed write, the data is dropped. */
  body(x: Exchange, buffer: Buffer, from: number, to: number): boolean {
    const { direct, socket } = this;
    if (this.failed) return true;
    if (x.bodyLength !== CHUNKED) return direct.writeBytes(buffer.subarray(from, to));
    const size = (to - from).toString(16);
    if (to - from <= SMALL_PIECE) return direct.write(`${size}\r\n${buffer.toString('latin1', from, to)}\r\n`);
    // The end of the chunk would be a write of its own.
    socket.cork();
    socket.write(`${size}\r\n`, 'latin1');
    socket.write(buffer.subarray(from, to));
    const more = socket.write('\r\n', 'latin1');
    socket.uncork();
    return more;
  }

  end(x: Exchange, trailers: string): void {
    if (x.bodyLength === CHUNKED && !this.failed) this.direct.write(`0\r\n${trailers}\r\n`);
  }
}
