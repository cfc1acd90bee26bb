import type { Socket } from 'node:net';
import type { FaultOwner } from '../../exchange/fault-owner.ts';
import type { AcceptedReader } from '../../io/accepted-reader.ts';
import type { AcceptedSocket } from '../../io/accepted-socket.ts';
import { BODY_IDLE_MS, LINGER_BYTES } from './limits.ts';
import type { RequestBody } from './request-body.ts';

/** Handles the events of a client's socket. */
export type SocketOwner = FaultOwner & {
  receive(chunk: Buffer): void;
  unblock(): void;
  endInput(): void;
  onSocketClose(): void;
};

/** The socket of an HTTP/1.x client: passes on its events, each guarded for its owner, and closes it properly. */
export class ClientSocket implements AcceptedReader {
  private readonly socket: AcceptedSocket;
  private readonly owner: SocketOwner;
  private readonly body: RequestBody;
  private discarded = 0;
  /** What waited to be written when the client had ended its side, what had been written, and since when both are the same. */
  private waiting = { length: -1, total: -1, since: 0 };

  constructor(socket: AcceptedSocket, owner: SocketOwner, body: RequestBody) {
    this.socket = socket;
    this.owner = owner;
    this.body = body;
    socket.read(this);
  }

  onDrain(): void {
    this.owner.unblock();
  }

  onEnd(): void {
    this.owner.endInput();
  }

  onClose(): void {
    this.owner.onSocketClose();
  }

  nextBuffer(): Buffer {
    return this.body.nextBuffer();
  }

  receive(chunk: Buffer): void {
    this.owner.receive(chunk);
  }

  onFault(error: unknown): void {
    this.owner.onFault(error);
  }

  /** Pauses it so that a tunnel can read its stream. */
  stopReading(): Socket {
    return this.socket.release();
  }

  /** Undoes `stopReading`. */
  resumeReading(): void {
    this.socket.resumeReading();
  }

  /** Gives the socket up for good: its errors and its end are also handled elsewhere from now on. */
  handOver(): Socket {
    return this.socket.handOver();
  }

  /**
   * Whether the client has ended its side and takes nothing of what waits to be written. It may be gone without another sign: after a fatal
   * alert, TLS reports an orderly end and completes no more writes.
   */
  private isStuck(now: number): boolean {
    const { readableEnded, writableEnded, writableLength: length, bytesWritten: total } = this.socket.socket;
    if (!readableEnded || (length === 0 && !writableEnded)) return false;
    const { waiting } = this;
    if (waiting.length !== length || waiting.total !== total) this.waiting = { length, total, since: now };
    return now - this.waiting.since >= BODY_IDLE_MS;
  }

  /**
   * Whether a client is gone that has ended its side: it looked as if it were still reading. `hasEnded` is for a connection that has no
   * tunnel.
   */
  isLost(now: number, hasEnded: boolean, tunnel: boolean): boolean {
    if (tunnel && this.isStuck(now)) return true;
    return (tunnel ? this.socket.socket.readableEnded : hasEnded) && this.socket.isGone;
  }

  /** Starts counting discarded bytes from zero. */
  resetDiscarded(): void {
    this.discarded = 0;
  }

  /** Beyond the limit reading stops: a reset now could overtake the response. */
  discard(bytes: number): void {
    this.discarded += bytes;
    if (this.discarded > LINGER_BYTES) this.socket.pause();
  }

  /** The client sends nothing more, so closing can't destroy the response: no need to wait for the client's end. */
  closeNow(): void {
    this.socket.destroySoon();
  }

  /** Ends our side and keeps reading for a moment: closing with unread bytes would reset the connection and lose the response. */
  lingeringClose(inputEnded: boolean, written: () => void): void {
    this.discarded = 0;
    this.socket.end(written);
    if (inputEnded) this.socket.destroySoon();
    else this.socket.resume();
  }

  /** Ends it in the middle of a response that only the close delimits: after an orderly one, it would look complete. */
  cut(): void {
    this.socket.cut();
  }
}
