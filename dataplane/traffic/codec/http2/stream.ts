import { AppendBuffer } from '../../io/append-buffer.ts';
import { ERROR } from './frames/frame.ts';
import { muchIsQueued } from './limits/queued-requests.ts';
import type { ReceiveWindow } from './limits/receive-window.ts';
import type { OutgoingHead } from './outgoing-head.ts';
import { COPIED } from './output.ts';
import { PieceQueue } from './piece-queue.ts';
import { NO_SIGNAL, type Priority } from './priority/priority.ts';
import type { StreamReceiver } from './stream-receiver.ts';

const LOW_WATER = 16_384;
/** A piece of a body with at least this many bytes is passed on by itself, as it is; others are gathered. */
export const LARGE = 1_024;
/** More than the window of a stream can hold unread. */
const MAX_KEPT = 1_048_576;
/** What was kept is passed on in pieces of this size, so that its recipient can pause after each (bytes). */
const KEPT_PIECE = 65_536;
/** The same while much waits for targets that don't read: one such piece of each request waits there, as a copy (bytes). */
const SMALL_PIECE = 2_048;
const NOTHING = Buffer.alloc(0);

/** What a stream needs from its connection. */
export interface StreamSession {
  /** Whether anything can be written at present. */
  readonly writable: boolean;
  /** Of a client, what it sends are requests. */
  readonly limits: { readonly isServer: boolean };
  /** Bytes of DATA that may be sent on all streams. */
  sendWindow: number;
  sendHead(stream: Http2Stream, head: OutgoingHead, ends: boolean): void;
  sendData(stream: Http2Stream, ends: boolean, buffer: Buffer, from: number, to: number): void;
  sendEnd(stream: Http2Stream): void;
  sendReset(stream: Http2Stream, code: number): void;
  /** The stream has something to send that can't be sent yet. */
  enqueue(stream: Http2Stream): void;
  /** Calls `report` of the stream once the current work is done. */
  wake(stream: Http2Stream): void;
  /** More bytes of the stream's body are kept, which `report` may pass on once the current work is done. */
  kept(stream: Http2Stream, bytes: number): void;
  /** This many bytes of the stream's body are no longer kept. */
  consumed(stream: Http2Stream, bytes: number): void;
  /** The stream has closed. */
  streamClosed(stream: Http2Stream): void;
}

/** One stream of a connection (RFC 9113 5): a request and its response. */
export class Http2Stream {
  readonly id: number;
  receiver: StreamReceiver | null = null;
  priority: Priority = NO_SIGNAL;
  /** Whether the peer has ended its side. */
  inputEnded = false;
  /** Whether our side has been ended on the wire. */
  outputEnded = false;
  /** Whether frames can no longer be sent or received. */
  isClosed = false;
  /** Whether it ended before its time: either side has reset it, or its connection was lost. */
  wasReset = false;
  /** The code with which it was reset. */
  code: number = ERROR.none;
  /** Whether it is in the connection's queue of streams with something to send. */
  isQueued = false;
  /** Bytes of DATA that may be sent; negative after the peer has reduced its windows. */
  sendWindow: number;
  readonly window: ReceiveWindow;
  /** Bytes that it keeps although the window of the connection has got them back. */
  advanced = 0;
  /** Bytes of the body that have yet to come; -1 if the length was not announced (RFC 9113 8.1.1). */
  expected = -1;
  isPaused = false;
  /** Whether the head of the peer's final message has arrived. */
  headReceived = false;
  private readonly session: StreamSession;
  private heads: { readonly head: OutgoingHead; readonly ends: boolean }[] | null = null;
  /** What waits to be sent of the body; null if nothing has had to wait. */
  private pieces: PieceQueue | null = null;
  private ends = false;
  private trailers: string | null = null;
  private releases = false;
  /** Whether its sender has to pause until `drained`. */
  senderPaused = false;
  private drainDue = false;
  /** What has arrived and was not passed on. */
  private kept: Buffer = NOTHING;
  private gathering: AppendBuffer | null = null;
  private endsAfterKept = false;
  private receivedTrailers = '';
  private closeReported = false;
  /** Whether what has arrived and was not passed on is no longer needed. */
  private dropsInput = false;

  constructor(id: number, session: StreamSession, sendWindow: number, window: ReceiveWindow) {
    this.id = id;
    this.session = session;
    this.sendWindow = sendWindow;
    this.window = window;
  }

  // Sending.

  /** Sends a head. `ends`: nothing follows it. */
  head(head: OutgoingHead, ends: boolean): void {
    if (this.isClosed || this.ends) return;
    if (ends) this.ends = true;
    if (this.idle && this.session.writable) return this.session.sendHead(this, head, ends);
    this.heads ??= [];
    this.heads.push({ head, ends });
    this.session.enqueue(this);
  }

  /**
   * Sends a piece of the body. A piece longer than `COPIED` is kept until it has been sent.
   * @returns false when the sender should pause.
   */
  write(buffer: Buffer, from: number, to: number): boolean {
    if (this.isClosed || this.ends) return true;
    let at = from;
    if (this.sendWindow > 0 && this.idle && this.session.writable) at += this.sendSome(buffer, from, to, false);
    if (at === to || this.isClosed) return true;
    this.pieces ??= new PieceQueue(!this.session.limits.isServer);
    this.pieces.add(buffer, at, to, to - from <= COPIED);
    this.session.enqueue(this);
    if (!this.pieces.isFull) return true;
    this.senderPaused = true;
    return false;
  }

  /** Ends our side. `trailers` are whole lines, or empty. */
  end(trailers: string): void {
    if (this.isClosed || this.ends) return;
    this.ends = true;
    if (trailers !== '') this.trailers = trailers;
    if (this.idle && this.session.writable) this.sendEnd();
    else this.session.enqueue(this);
  }

  /** Ends it before its time (RFC 9113 6.4). What is queued is dropped. */
  reset(code: number): void {
    if (this.isClosed) return this.dropInput();
    this.session.sendReset(this, code);
    this.abandon(code);
  }

  /**
   * The peer has reset it. What arrived before that is passed on, unless the stream is paused. `keepsResponse`: a response that was
   * complete before stays so even then, because its server only needs no more of the request (RFC 9113 8.1).
   */
  resetByPeer(code: number, keepsResponse: boolean): void {
    // A busy server of Node sends this reset before END_STREAM, and never sends that: all that was announced has come.
    if (keepsResponse && code === ERROR.none && this.expected === 0 && !this.inputEnded) this.endInput('');
    if (!this.isPaused) this.deliverKept();
    // Its receiver may have reset it.
    if (this.isClosed) return;
    this.dropsInput = !(this.inputEnded && code === ERROR.none && (keepsResponse || !this.isPaused));
    this.endEarly(code);
  }

  /** Its connection is lost. */
  abandon(code: number): void {
    this.dropsInput = true;
    this.endEarly(code);
  }

  /** It is closed, and earlier input is no longer needed. */
  private dropInput(): void {
    this.dropsInput = true;
    this.dropKept();
    this.session.wake(this);
  }

  private dropKept(): void {
    const { length } = this.kept;
    this.kept = NOTHING;
    if (length > 0) this.session.consumed(this, length);
  }

  private endEarly(code: number): void {
    if (this.isClosed) return;
    this.wasReset = true;
    this.code = code;
    this.close();
  }

  /** The rest of the peer's message is not needed: it is declined once ours has been sent (RFC 9113 8.1). */
  release(): void {
    if (this.isClosed) return;
    if (this.outputEnded) return this.reset(ERROR.none);
    this.releases = true;
  }

  /** Whether its head waits to be sent. */
  get isUnsent(): boolean {
    return this.heads !== null;
  }

  /** Bytes of the body that wait to be sent. */
  get queued(): number {
    return this.pieces === null ? 0 : this.pieces.bytes;
  }

  /** Whether nothing waits to be sent. */
  private get idle(): boolean {
    return this.heads === null && this.queued === 0;
  }

  /** Whether it could send something if its connection could. */
  get ready(): boolean {
    if (this.heads !== null) return true;
    return this.queued > 0 ? this.sendWindow > 0 && this.session.sendWindow > 0 : this.ends && !this.outputEnded;
  }

  /** Sends the next part of what is queued, at most one frame of a body. @returns whether there is more. */
  sendNext(maxBytes: number): boolean {
    const { heads, pieces } = this;
    if (heads !== null) {
      this.heads = null;
      for (const { head, ends } of heads) this.session.sendHead(this, head, ends);
    } else if (pieces !== null && pieces.bytes > 0) this.sendPiece(pieces, maxBytes);
    else this.sendEnd();
    return !this.isClosed && (!this.idle || (this.ends && !this.outputEnded));
  }

  private sendPiece(pieces: PieceQueue, maxBytes: number): void {
    const piece = pieces.first as Buffer;
    const last = this.ends && this.trailers === null && pieces.hasOne;
    pieces.sent(this.sendSome(piece, 0, Math.min(piece.length, maxBytes), last && piece.length <= maxBytes));
    if (this.senderPaused && this.queued <= LOW_WATER) {
      this.senderPaused = false;
      this.drainDue = true;
      this.session.wake(this);
    }
  }

  /** @returns how many bytes the windows allowed. */
  private sendSome(buffer: Buffer, from: number, to: number, ends: boolean): number {
    const { session } = this;
    const bytes = Math.min(to - from, this.sendWindow, session.sendWindow);
    if (bytes <= 0) return 0;
    const whole = ends && bytes === to - from;
    session.sendData(this, whole, buffer, from, from + bytes);
    // Not earlier: if an exception kept the bytes from being sent, they would never be acknowledged, and the window would stay smaller.
    this.sendWindow -= bytes;
    session.sendWindow -= bytes;
    return bytes;
  }

  private sendEnd(): void {
    const { session, trailers } = this;
    if (trailers === null) session.sendEnd(this);
    else session.sendHead(this, { status: 0, pseudo: null, lines: trailers, length: -1 }, true);
  }

  /** END_STREAM has been written. */
  endOutput(): void {
    this.outputEnded = true;
    if (this.inputEnded) this.close();
    else if (this.releases) this.reset(ERROR.none);
  }

  // Receiving.

  /** Bytes of the body have arrived. `reused`: they are overwritten later. @returns false if there are more than were announced. */
  receive(buffer: Buffer, from: number, to: number, reused: boolean): boolean {
    const bytes = to - from;
    if (this.expected >= 0) {
      this.expected -= bytes;
      if (this.expected < 0) return false;
    }
    if (!this.isPaused && this.kept.length === 0 && bytes >= LARGE && (bytes <= SMALL_PIECE || !this.passesLittle)) {
      if (reused) this.deliver(Buffer.from(buffer.subarray(from, to)), 0, bytes);
      else this.deliver(buffer, from, to);
    } else {
      this.keep(buffer, from, to);
      this.session.kept(this, bytes);
    }
    return true;
  }

  private get passesLittle(): boolean {
    return this.session.limits.isServer && muchIsQueued();
  }

  private keep(buffer: Buffer, from: number, to: number): void {
    this.gathering ??= new AppendBuffer(MAX_KEPT);
    this.kept = this.gathering.join(this.kept, buffer.subarray(from, to));
  }

  /** Whether what it keeps uses up the window of its connection. */
  get usesWindow(): boolean {
    return this.kept.length > this.advanced;
  }

  /** Its head was all that the peer had to send. */
  endedWithHead(): void {
    if (this.inputEnded && this.outputEnded && !this.isClosed) this.close();
  }

  /** The peer has ended its side. @returns false if bytes are missing. */
  endInput(trailers: string): boolean {
    if (this.expected > 0) return false;
    this.inputEnded = true;
    this.receivedTrailers = trailers;
    this.endsAfterKept = true;
    if (this.outputEnded) this.close();
    this.session.wake(this);
    return true;
  }

  /** The body is kept until `resume`, and the peer has to stop when its window is full. */
  pause(): void {
    this.isPaused = true;
  }

  /** What was kept is passed on, and all that follows. */
  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.session.wake(this);
  }

  /** Bytes of its frames that are not content. */
  discard(bytes: number): void {
    this.session.consumed(this, bytes);
  }

  private deliver(buffer: Buffer, from: number, to: number): void {
    if (this.isAccepted(buffer, from, to) || this.isClosed) return this.session.consumed(this, to - from);
    this.isPaused = true;
    this.keep(buffer, from, to);
  }

  private isAccepted(buffer: Buffer, from: number, to: number): boolean {
    const { receiver } = this;
    if (receiver === null) return true;
    try {
      return receiver.data(buffer, from, to);
    } catch (error) {
      receiver.onFault(error);
      return true;
    }
  }

  private deliverKept(): void {
    while (this.kept.length > 0 && !this.isPaused && !this.dropsInput) {
      const { kept } = this;
      const bytes = Math.min(kept.length, this.passesLittle ? SMALL_PIECE : KEPT_PIECE);
      this.kept = bytes === kept.length ? NOTHING : kept.subarray(bytes);
      if (this.isAccepted(kept, 0, bytes) || this.isClosed) this.session.consumed(this, bytes);
      else {
        this.isPaused = true;
        this.kept = kept;
      }
    }
    // What it was gathered in is up to twice as long as what was kept at most.
    const { kept } = this;
    if (kept.length === 0) this.gathering = null;
    else if (kept.length * 4 < kept.buffer.byteLength) {
      this.gathering = null;
      this.kept = Buffer.allocUnsafeSlow(kept.length);
      kept.copy(this.kept);
    }
  }

  /** Notifies the receiver of what has happened since the last call. The connection calls it when its current work is done. */
  report(): void {
    try {
      this.notify(this.receiver);
    } catch (error) {
      this.receiver?.onFault(error);
    }
  }

  private notify(receiver: StreamReceiver | null): void {
    if (!this.isPaused && !this.dropsInput) this.deliverKept();
    if (this.endsAfterKept && this.kept.length === 0 && !this.isPaused && !this.dropsInput) {
      this.endsAfterKept = false;
      receiver?.ended(this.receivedTrailers);
    }
    if (this.isClosed) {
      if (this.closeReported || (this.endsAfterKept && !this.dropsInput)) return;
      this.closeReported = true;
      receiver?.closed(this.code);
    } else if (this.drainDue) {
      this.drainDue = false;
      receiver?.drained();
    }
  }

  private close(): void {
    this.isClosed = true;
    // First, so that its receiver is notified even if something after it fails.
    this.session.wake(this);
    this.heads = null;
    this.pieces?.drop();
    this.pieces = null;
    if (this.dropsInput) this.dropKept();
    this.window.release();
    this.session.streamClosed(this);
  }
}
