import { ERROR } from '../../codec/http2/frames/frame.ts';
import type { Http2Stream } from '../../codec/http2/stream.ts';
import type { StreamReceiver } from '../../codec/http2/stream-receiver.ts';
import type { Attempt } from '../../exchange/attempt.ts';
import { type DetachedStream, type Downstream, detachAttempt, type Exchange, UNTIL_CLOSE } from '../../exchange/exchange.ts';
import { FAILURE } from '../../exchange/failure.ts';
import type { Faults } from '../../exchange/faults.ts';
import { isGrpc, isServedGrpc } from '../../exchange/grpc.ts';
import { resumeAnswer } from '../../exchange/relay.ts';
import { endBody, hasToWait, passBody } from '../../exchange/request-body.ts';
import { BodyPace, TOO_SLOW } from '../body-pace.ts';
import { HeldBody, withoutRest } from '../held-body.ts';
import { type ConnectionShare, HeldShare } from '../held-share.ts';
import { Drain } from './drain.ts';
import { Progress } from './progress.ts';
import { refuse, refuseFaulty } from './refuse.ts';
import { TunnelDuplex } from './tunnel-stream.ts';

/** Bodies of known length up to this many bytes are buffered whole before the request is forwarded, as long as there is memory for them. */
const HOLD_BYTES = 65_536;
/** Sent in reply to an extended CONNECT instead of a 2xx that the client would mistake for an accepted upgrade. */
const NO_TUNNEL = 501;
/** Statuses beyond this have no meaning and are treated as a server error (RFC 9110 15); many HTTP/2 clients reject them. */
const MAX_STATUS = 599;
const BAD_GATEWAY = 502;

export type StreamTools = {
  monotonic(): number;
  readonly faults: Faults;
  /** What the bodies of its connection have that are held. */
  readonly held: ConnectionShare;
  facts(bodyRead: number): ReturnType<Downstream['facts']>;
  /** The exchange is over, successfully or not. */
  record(x: Exchange): void;
  /** The stream has closed. */
  closed(stream: ClientStream): void;
  /** Bytes that have been written to the connection and not been sent yet. */
  unsent(): number;
  /** The connection must not be used for further requests to the exchange's host. */
  closeAfter(x: Exchange): void;
};

/** A client's side of one exchange over HTTP/2. */
export class ClientStream implements Downstream, StreamReceiver {
  readonly address: string;
  private readonly stream: Http2Stream;
  private readonly tools: StreamTools;
  private x: Exchange | null = null;
  /** The head of the response, kept until it is known whether a body follows. */
  private pendingHead: { readonly status: number; readonly fields: string; readonly length: number } | null = null;
  private headSent = false;
  private trailers = '';
  private held: HeldBody | null = null;
  private share: HeldShare | null = null;
  private whenHeld: ((x: Exchange) => void) | null = null;
  /** The attempt that receives a streaming body. */
  private receiver: Attempt | null = null;
  private listening = false;
  /** Whether a success status would mean that the client may switch protocols (RFC 8441 4). */
  private connects = false;
  /** What a tunnel reads and writes; null without one. */
  private duplex: TunnelDuplex | null = null;
  private detached = false;
  private inputEnded = false;
  private requestTrailers = '';
  /** The rest of the body once the response is complete; null before. */
  private drain: Drain | null = null;
  /**
   * The body of a small response that arrived before the request body had ended; null for any other response. A success is held until
   * the request has ended, because curl 7.88 stops sending when it gets one, without ever ending its request. Other responses are held
   * until they are complete: on the head alone curl 7.88 ends its request short of its Content-Length, and the stream would be reset
   * (RFC 9113 8.1.1).
   */
  private early: Buffer[] | null = null;
  private earlyBytes = 0;
  private readonly progress: Progress;
  private received = 0;
  private pace: BodyPace | null = null;
  /** Why its exchange ends if the stream does. */
  private endReason = 'the client went away';

  constructor(stream: Http2Stream, address: string, tools: StreamTools) {
    this.stream = stream;
    this.address = address;
    this.tools = tools;
    this.progress = new Progress(tools.monotonic());
    this.inputEnded = stream.inputEnded;
    // Until the recipient of the body is known.
    stream.pause();
    stream.receiver = this;
  }

  /** The exchange for its request. */
  begin(x: Exchange): void {
    this.x = x;
    x.bodyComplete = x.bodyLength === 0;
    this.connects = x.upgrade !== null;
  }

  /** Its exchange, unless the client has cancelled it already. */
  get exchange(): Exchange | null {
    return this.stream.isClosed ? null : this.x;
  }

  facts(): ReturnType<Downstream['facts']> {
    return this.tools.facts(this.received);
  }

  // Receiving.

  bufferBody(x: Exchange, then: (x: Exchange) => void): void {
    if (this.inputEnded || x.bodyStart !== null || x.bodyLength < 0 || x.bodyLength > HOLD_BYTES || x.expectsContinue) return then(x);
    this.share ??= new HeldShare(this.tools.held);
    if (!this.share.reserve(x.bodyLength)) return then(x);
    this.held = new HeldBody(x.bodyLength);
    this.whenHeld = then;
    this.listen();
  }

  streamBody(x: Exchange): void {
    if (this.x !== x) return;
    this.receiver = x.attempt;
    if (this.inputEnded) return endBody(x, this.requestTrailers);
    this.listen();
  }

  resumeBody(): void {
    if (this.listening) this.stream.resume();
  }

  private listen(): void {
    this.listening = true;
    this.stream.resume();
  }

  /** Whether the attempt that received the body has ended without a response, and no other has requested it yet. */
  private get waits(): boolean {
    return this.held === null && this.x !== null && hasToWait(this.x, this.receiver);
  }

  data(buffer: Buffer, from: number, to: number): boolean {
    const { x, held, duplex } = this;
    const bytes = to - from;
    if (duplex !== null) duplex.receive(buffer.subarray(from, to));
    else if (held !== null) held.add(held.isEmpty ? withoutRest(buffer.subarray(from, to)) : buffer.subarray(from, to));
    else if (x === null) {
      if (this.drain?.discard(bytes) === false) this.stream.pause();
    } else if (this.waits) return false;
    else if (!passBody(x, buffer, from, to)) this.stream.pause();
    this.received += bytes;
    return true;
  }

  ended(trailers: string): void {
    const { x } = this;
    this.inputEnded = true;
    this.requestTrailers = trailers;
    if (this.duplex !== null) return this.duplex.endInput();
    if (x === null) {
      if (this.early !== null) this.endResponse();
      return;
    }
    x.bodyComplete = true;
    if (this.waits) return;
    if (this.held === null) return endBody(x, trailers);
    x.held = this.held.whole;
    this.held = null;
    const then = this.whenHeld;
    this.whenHeld = null;
    then?.(x);
  }

  // Sending.

  informational(status: number, _reason: string, fields: string): void {
    // A 101 would accept an upgrade, which HTTP/2 does not have; only other 1xx are interim (RFC 9113 8.1, 8.6).
    if (this.headSent || status < 100 || status > 199 || status === 101) return;
    this.stream.head({ status, pseudo: null, lines: fields, length: UNTIL_CLOSE }, false);
  }

  head(x: Exchange, status: number, _reason: string, fields: string, length: number): void {
    // A stream carries only one response.
    if (this.x !== x || this.headSent) return;
    this.share?.release();
    x.status = this.connects && status < 300 ? NO_TUNNEL : status > MAX_STATUS ? BAD_GATEWAY : status;
    x.bytesSent += fields.length;
    x.answerFields = fields;
    this.pendingHead = { status: x.status, fields, length: status === 204 ? UNTIL_CLOSE : length };
    const open = !this.inputEnded && x.bodyLength > 0 && !(x.expectsContinue && this.received === 0);
    const small = status === 204 || (length === UNTIL_CLOSE ? status >= 400 : length <= HOLD_BYTES);
    if (open && small && !isGrpc(x)) this.early = [];
    if (x.endsConnection) this.tools.closeAfter(x);
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    const { x } = this;
    if (to === from || x === null) return true;
    x.bytesSent += to - from;
    x.bodySent += to - from;
    if (this.early !== null) {
      this.earlyBytes += to - from;
      if (this.earlyBytes <= HOLD_BYTES) {
        this.early.push(Buffer.from(buffer.subarray(from, to)));
        return true;
      }
      this.sendEarly(this.early);
    }
    this.sendHead(false);
    return this.stream.write(buffer, from, to);
  }

  get unsent(): number {
    return this.stream.queued + this.tools.unsent();
  }

  end(x: Exchange, trailers: string): void {
    const { stream } = this;
    if (this.x !== x) return;
    this.trailers = trailers;
    this.settle(x);
    if (stream.isClosed) return;
    if (!this.inputEnded) this.listen();
    if (this.inputEnded || (x.bodyLength === 0 && !this.connects)) return this.endResponse();
    this.drain = new Drain(this.tools.monotonic());
    if (this.early === null || x.status >= 300) this.endResponse();
    if (this.connects || (x.expectsContinue && this.received === 0)) stream.release();
  }

  private endResponse(): void {
    const { stream, early, pendingHead } = this;
    this.early = null;
    // A complete response ends in the turn in which it begins.
    if (early !== null && pendingHead !== null && this.trailers === '') this.pendingHead = { ...pendingHead, length: this.earlyBytes };
    const ends = this.trailers === '' && (early === null || early.length === 0);
    if (this.pendingHead !== null && ends) return this.sendHead(true);
    this.sendHead(false);
    if (early !== null) for (const piece of early) stream.write(piece, 0, piece.length);
    stream.end(this.trailers);
  }

  /** Sends an early response before the request has ended: it is too large to be buffered. */
  private sendEarly(early: readonly Buffer[]): void {
    this.early = null;
    this.sendHead(false);
    for (const piece of early) this.stream.write(piece, 0, piece.length);
  }

  abort(x: Exchange): void {
    if (this.x !== x) return;
    this.settle(x);
    this.stream.reset(ERROR.internal);
  }

  flush(): void {
    // More of the response follows later; its head need not wait for the next piece.
    if (this.x !== null && this.early === null) this.sendHead(false);
  }

  detach(x: Exchange): DetachedStream | null {
    if (this.x !== x || this.stream.isClosed) return null;
    this.detached = true;
    this.duplex = new TunnelDuplex(this.stream, (error) => this.onFault(error));
    return { stream: this.duplex };
  }

  reattach(): void {
    this.detached = false;
    if (this.duplex?.accepted !== false) return;
    this.duplex.destroy();
    this.duplex = null;
  }

  private sendHead(ends: boolean): void {
    const head = this.pendingHead;
    if (head === null) return;
    this.pendingHead = null;
    this.headSent = true;
    this.stream.head({ status: head.status, pseudo: null, lines: head.fields, length: head.length }, ends);
  }

  // The end.

  /** Runs once per exchange, however many callers try to end it. */
  private settle(x: Exchange): void {
    if (this.x !== x) return;
    this.x = null;
    x.attempt = null;
    this.share?.release();
    this.tools.record(x);
  }

  closed(): void {
    this.left();
    // If both sides have ended, the target may not have received the last bytes yet. Given up before its end is passed on, it never ends.
    if (this.duplex?.hasEnded === false) this.duplex.destroy();
    this.tools.closed(this);
  }

  drained(): void {
    if (this.duplex !== null) this.duplex.drained();
    else if (this.x !== null) resumeAnswer(this.x);
  }

  /** Its state can't be trusted any more: ends the stream and its exchange. */
  onFault(error: unknown): void {
    const { x, stream } = this;
    const { faults } = this.tools;
    const answered = this.headSent || this.duplex?.accepted === true;
    this.pendingHead = null;
    this.early = null;
    if (x === null) faults.note('exchange', error);
    else faults.end(x, error, answered, (torn) => this.settle(torn));
    if (stream.isClosed) return faults.step(() => this.tools.closed(this));
    if (answered) faults.step(() => stream.reset(ERROR.internal));
    else refuseFaulty(stream, faults, x?.method === 'HEAD');
    // The rest of the request is of no use.
    faults.step(() => this.listen());
  }

  private left(): void {
    const { x } = this;
    if (x === null) return;
    const cancelDetached = detachAttempt(x);
    if (x.status === 0) x.status = 499;
    x.failure = this.endReason;
    this.settle(x);
    cancelDetached();
  }

  /** As over HTTP/1.1; see `RequestBody`. */
  private tooSlow(x: Exchange, now: number): boolean {
    if (this.inputEnded || !this.listening || x.status !== 0 || x.upgrade !== null) return false;
    this.pace ??= new BodyPace(now);
    const clientOnly = !this.stream.isPaused && !this.waits && (this.received > 0 || !x.expectsContinue);
    return this.pace.tooSlow(now, this.received, clientOnly) && !isServedGrpc(x);
  }

  private giveUp(x: Exchange): void {
    detachAttempt(x)();
    x.status = 408;
    x.failure = TOO_SLOW;
    x.bytesSent += refuse(this.stream, 408, TOO_SLOW, false);
    this.settle(x);
  }

  /**
   * Bytes of its response that wait until its client reads, or ends its request, and those of its request that are held. A tunnel has
   * limits of its own.
   */
  get unread(): number {
    return this.detached ? 0 : this.unreadResponse + this.heldBytes;
  }

  /** Those of its response alone. */
  get unreadResponse(): number {
    return this.detached ? 0 : this.stream.queued + (this.early === null ? 0 : this.earlyBytes);
  }

  /** Bytes of its request that are held until that is complete, and until its response begins. */
  get heldBytes(): number {
    return (this.held?.whole ?? this.x?.held ?? this.x?.bodyStart)?.length ?? 0;
  }

  /** Gives it up, because clients leave too much unread or incomplete. */
  giveWay(): void {
    const failure = this.heldBytes > 0 ? FAILURE.leftHeld : FAILURE.leftUnread;
    if (this.x !== null) this.x.lastFailure = failure;
    this.endReason = failure.reason;
    this.stream.reset(ERROR.cancel);
  }

  /** Ends the stream if a body has made no progress for too long on the client's side, or at the target of a tunnel that has ended. */
  sweep(now: number): void {
    const { stream, x } = this;
    if (this.detached && !stream.isClosed) return;
    if (x !== null && this.tooSlow(x, now)) return this.giveUp(x);
    if (this.drain?.over(now) === true) {
      if (this.early !== null) return this.endResponse();
      // Also if the client has ended it meanwhile: what it has sent since would be kept.
      if (stream.outputEnded) return stream.reset(ERROR.none);
    }
    const moved = this.received + (x?.bytesSent ?? 0) - stream.queued;
    const waitsForUs =
      x !== null &&
      !stream.isClosed &&
      this.held === null &&
      stream.queued === 0 &&
      (this.inputEnded || x.bodyLength === 0 || stream.isPaused);
    if (!this.progress.isOverdue(now, moved, waitsForUs)) return;
    // Checked last, so that it costs other requests nothing.
    const isCall = x !== null && !stream.isClosed && this.held === null && stream.queued === 0 && isServedGrpc(x);
    if (isCall) this.progress.isOverdue(now, moved, true);
    else stream.reset(ERROR.cancel);
  }
}
