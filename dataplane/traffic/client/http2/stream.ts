import { constants, type ServerHttp2Stream } from 'node:http2';
import { fieldArray, fieldsByName, trailerLines } from '../../codec/http2/request-text.ts';
import type { Attempt } from '../../exchange/attempt.ts';
import { type DetachedStream, type Downstream, detachAttempt, type Exchange, SMALL_PIECE, UNTIL_CLOSE } from '../../exchange/exchange.ts';
import { FAULT_REASON, type Faults, guard } from '../../exchange/faults.ts';
import { isGrpc } from '../../exchange/grpc.ts';
import { resumeAnswer } from '../../exchange/relay.ts';
import { endBody, passBody } from '../../exchange/request-body.ts';
import { coalesceSmallPieces } from '../../io/small-pieces.ts';
import { cancelStream, cutStream, releaseStream } from '../../io/stream-ends.ts';
import { BodyPace, TOO_SLOW } from '../body-pace.ts';
import { HeldBody } from '../held-body.ts';
import { Drain } from './drain.ts';
import { refuse } from './refuse.ts';

/** Bodies of known length up to this many bytes are buffered whole before the request is forwarded. */
const HOLD_BYTES = 65_536;
/** How long a body may make no progress, in either direction (ms). */
const BODY_IDLE_MS = 60_000;
/** Sent in reply to an extended CONNECT instead of a 2xx that the client would mistake for an accepted upgrade. */
const NO_TUNNEL = 501;
/** The library sends no status beyond this (RFC 9110 15: those have no meaning and are treated as a server error). */
const MAX_STATUS = 599;
const BAD_GATEWAY = 502;
const { NGHTTP2_PROTOCOL_ERROR } = constants;

export type StreamTools = {
  monotonic(): number;
  readonly faults: Faults;
  facts(bodyRead: number): ReturnType<Downstream['facts']>;
  /** The exchange is over, successfully or not. */
  record(x: Exchange): void;
  /** The stream has closed. */
  closed(stream: ClientStream): void;
  /** The connection must not be used for the exchange's host any more. */
  outlived(x: Exchange): void;
};

/** A client's side of one exchange over HTTP/2. */
export class ClientStream implements Downstream {
  readonly address: string;
  private readonly stream: ServerHttp2Stream;
  private readonly tools: StreamTools;
  private x: Exchange | null = null;
  /** The head of the response, kept until it is known whether a body follows. */
  private pendingHead: { readonly fields: string[]; readonly length: number } | null = null;
  private headSent = false;
  private trailers = '';
  private held: HeldBody | null = null;
  private whenHeld: ((x: Exchange) => void) | null = null;
  /** The attempt that a streaming body goes to. */
  private receiver: Attempt | null = null;
  private listening = false;
  /** Whether a success status would mean that the client may switch protocols (RFC 8441 4). */
  private connects = false;
  /** Whether a tunnel reads and writes the stream. */
  private detached = false;
  private inputEnded = false;
  private requestTrailers = '';
  /** The rest of the body once the response is complete; null before. */
  private drain: Drain | null = null;
  /** Whether the client waits for a response before it sends its body. */
  private nothingFlows = false;
  /** Whether END_STREAM is sent with the trailers or in place of them. */
  private waitsForTrailers = false;
  private allSent = false;
  /**
   * The body of a small response that came before the request body had ended; null for every other response. A success waits for the
   * end of the request: once it has one, curl 7.88 sends no more, and never ends either. Anything else waits until it is whole: at
   * the head alone curl 7.88 ends its request short of its Content-Length, for which the stream is reset (RFC 9113 8.1.1).
   */
  private early: Buffer[] | null = null;
  private earlyBytes = 0;
  private lastProgress: number;
  private progressSeen = 0;
  private received = 0;
  private pace: BodyPace | null = null;

  constructor(stream: ServerHttp2Stream, address: string, tools: StreamTools) {
    this.stream = stream;
    this.address = address;
    this.tools = tools;
    this.lastProgress = tools.monotonic();
    // After a reset with NO_ERROR the stream closes only when all of it has been read.
    stream.on('aborted', () => guard(this, this.left));
    stream.on('close', () => guard(this, this.closed));
    stream.on('drain', () => guard(this, this.drained));
    stream.on('trailers', (_headers, _flags, raw: readonly string[] | undefined) => guard(this, this.receiveTrailers, raw ?? []));
  }

  /** The exchange for its request. */
  begin(x: Exchange): void {
    this.x = x;
    x.bodyComplete = x.bodyLength === 0;
    this.connects = x.upgrade !== null;
    if (!x.bodyComplete || this.connects) coalesceSmallPieces(this.stream, (error) => this.onFault(error));
  }

  facts(): ReturnType<Downstream['facts']> {
    return this.tools.facts(this.received);
  }

  // Receiving.

  bufferBody(x: Exchange, then: (x: Exchange) => void): void {
    if (this.inputEnded || x.bodyLength < 0 || x.bodyLength > HOLD_BYTES || x.expectsContinue) return then(x);
    this.held = new HeldBody();
    this.whenHeld = then;
    this.listen();
  }

  streamBody(x: Exchange): void {
    if (this.x !== x) return;
    this.receiver = x.attempt;
    if (this.inputEnded) return endBody(x, this.requestTrailers);
    this.listen();
    this.stream.resume();
  }

  resumeBody(): void {
    this.stream.resume();
  }

  private listen(): void {
    if (this.listening) return;
    this.listening = true;
    this.stream.on('data', (chunk: Buffer) => guard(this, this.receive, chunk));
    this.stream.on('end', () => guard(this, this.ended));
    // An empty body may have ended before the listeners were attached.
    if (this.stream.readableEnded) this.ended();
  }

  /** Whether the attempt that received the body was replaced by another that has not requested it yet. */
  private get waits(): boolean {
    const attempt = this.x?.attempt ?? null;
    return this.held === null && attempt !== null && attempt !== this.receiver;
  }

  private receive(chunk: Buffer): void {
    const { held } = this;
    if (held !== null) {
      this.received += chunk.length;
      held.add(chunk);
    } else this.pass(chunk);
  }

  private pass(chunk: Buffer): void {
    const { x, stream } = this;
    if (this.waits && !stream.readableEnded) {
      stream.pause();
      stream.unshift(chunk);
      return;
    }
    this.received += chunk.length;
    const goesOn = x === null ? this.drain?.discard(chunk.length) !== false : passBody(x, chunk, 0, chunk.length);
    if (!goesOn) stream.pause();
  }

  private receiveTrailers(raw: readonly string[]): void {
    const lines = trailerLines(raw);
    // `close` would end a response that is under way as if it were complete.
    if (lines === null && this.headSent) cutStream(this.stream);
    else if (lines === null) this.stream.close(NGHTTP2_PROTOCOL_ERROR);
    else this.requestTrailers = lines;
  }

  private ended(): void {
    const { x } = this;
    if (x === null && this.early !== null) return this.endResponse();
    // A stream that was reset emits `end` too; its body is not complete.
    if (x === null || this.inputEnded || this.gone) return;
    this.inputEnded = true;
    x.bodyComplete = true;
    if (this.waits) return;
    if (this.held === null) return endBody(x, this.requestTrailers);
    x.held = this.held.whole;
    this.held = null;
    const then = this.whenHeld;
    this.whenHeld = null;
    then?.(x);
  }

  // Sending.

  informational(status: number, _reason: string, fields: string): void {
    // A 101 would accept an upgrade, which HTTP/2 does not have; only other 1xx are interim (RFC 9113 8.1, 8.6).
    if (this.headSent || this.gone || status < 100 || status > 199 || status === 101) return;
    this.stream.additionalHeaders({ ':status': status, ...fieldsByName(fields) });
  }

  head(x: Exchange, status: number, _reason: string, fields: string, length: number): void {
    // A stream carries only one response.
    if (this.x !== x || this.headSent) return;
    x.status = this.connects && status < 300 ? NO_TUNNEL : status > MAX_STATUS ? BAD_GATEWAY : status;
    x.bytesSent += fields.length;
    x.answerFields = fields;
    const list = fieldArray(fields, [':status', `${x.status}`]);
    if (length !== UNTIL_CLOSE && status !== 204) list.push('content-length', `${length}`);
    this.pendingHead = { fields: list, length };
    const open = !this.inputEnded && x.bodyLength > 0 && !(x.expectsContinue && this.received === 0);
    const small = status === 204 || (length === UNTIL_CLOSE ? status >= 400 : length <= HOLD_BYTES);
    if (open && small && !isGrpc(x)) this.early = [];
    if (x.endsConnection) this.tools.outlived(x);
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    const { stream, x } = this;
    if (to === from || x === null || this.gone) return true;
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
    const piece = buffer.subarray(from, to);
    // Small pieces are in a buffer that is reused before they have been sent.
    stream.write(to - from <= SMALL_PIECE ? Buffer.from(piece) : piece);
    return !stream.writableNeedDrain;
  }

  get holding(): boolean {
    return this.stream.writableLength > 0;
  }

  end(x: Exchange, trailers: string): void {
    const { stream } = this;
    if (this.x !== x) return;
    this.trailers = trailers;
    this.settle(x);
    if (this.gone) return;
    if (this.inputEnded || (x.bodyLength === 0 && !this.connects)) return this.endResponse();
    this.drain = new Drain(this.tools.monotonic());
    this.nothingFlows = this.connects || (x.expectsContinue && this.received === 0);
    this.listen();
    stream.resume();
    if (this.early === null || x.status >= 300) this.endResponse();
  }

  private endResponse(): void {
    const { stream, early, pendingHead } = this;
    this.early = null;
    if (this.gone) return;
    // A complete response ends in the turn in which it begins.
    if (early !== null && pendingHead !== null && this.trailers === '') this.pendingHead = { ...pendingHead, length: this.earlyBytes };
    this.sendHead(this.trailers === '' && (early === null || early.length === 0));
    if (early !== null) for (const piece of early) stream.write(piece);
    stream.end();
    if (!this.waitsForTrailers && this.drain !== null) stream.once('finish', () => setImmediate(() => guard(this, this.sentAll)));
  }

  /** Sends an early response before the request has ended: it is too large to be buffered. */
  private sendEarly(early: readonly Buffer[]): void {
    this.early = null;
    this.sendHead(false);
    for (const piece of early) this.stream.write(piece);
  }

  abort(x: Exchange): void {
    if (this.x !== x) return;
    this.settle(x);
    cutStream(this.stream);
  }

  flush(): void {
    // More of the response follows later; its head need not wait for the next piece.
    if (this.x !== null && this.early === null) this.sendHead(false);
  }

  detach(x: Exchange): DetachedStream | null {
    if (this.x !== x || this.gone) return null;
    this.detached = true;
    return { stream: this.stream };
  }

  reattach(): void {
    this.detached = false;
  }

  private sendHead(ends: boolean): void {
    const head = this.pendingHead;
    if (head === null || this.gone) return;
    this.pendingHead = null;
    this.headSent = true;
    const { stream } = this;
    // If only END_STREAM marks the end of the body, it must not be sent until we say so.
    this.waitsForTrailers = !ends && head.length === UNTIL_CLOSE;
    stream.respond(head.fields, { endStream: ends, waitForTrailers: this.waitsForTrailers });
    if (this.waitsForTrailers) stream.once('wantTrailers', () => guard(this, this.sendTrailers));
  }

  private sendTrailers(): void {
    if (this.gone) return;
    this.stream.sendTrailers(fieldsByName(this.trailers));
    // The library does it in the next turn.
    if (this.drain !== null) setImmediate(() => guard(this, this.sentAll));
  }

  /** Called once END_STREAM has been sent: a reset sent before it would discard the response. */
  private sentAll(): void {
    this.allSent = true;
    if (this.nothingFlows && !this.gone) releaseStream(this.stream);
  }

  // The end.

  /** Runs once per exchange, however many callers try to end it. */
  private settle(x: Exchange): void {
    if (this.x !== x) return;
    this.x = null;
    x.attempt = null;
    this.tools.record(x);
  }

  /** Whether nothing can be sent any more: the stream has been reset or its connection has closed. */
  private get gone(): boolean {
    return this.stream.closed || this.stream.destroyed;
  }

  private closed(): void {
    this.left();
    this.tools.closed(this);
  }

  private drained(): void {
    if (this.x !== null) resumeAnswer(this.x);
  }

  /** Its state can't be trusted any more: ends the stream and its exchange. */
  onFault(error: unknown): void {
    const { x, stream } = this;
    const { faults } = this.tools;
    const answered = stream.headersSent;
    this.pendingHead = null;
    this.early = null;
    if (x === null) faults.note('exchange', error);
    else faults.end(x, error, answered, (torn) => this.settle(torn));
    // Read directly: an exception in `gone` may be the one that is handled here.
    if (stream.closed || stream.destroyed) return faults.step(() => this.tools.closed(this));
    faults.step(() => {
      if (answered) cutStream(stream);
      else refuse(stream, 500, FAULT_REASON);
    });
  }

  private left(): void {
    const { x } = this;
    if (x === null) return;
    const cancelDetached = detachAttempt(x);
    if (x.status === 0) x.status = 499;
    x.failure = 'the client went away';
    this.settle(x);
    cancelDetached();
  }

  /** As over HTTP/1.1; see `RequestBody`. */
  private tooSlow(x: Exchange, now: number): boolean {
    if (this.inputEnded || !this.listening || x.status !== 0 || x.upgrade !== null) return false;
    this.pace ??= new BodyPace(now);
    const clientOnly = !this.stream.isPaused() && !this.waits && (this.received > 0 || !x.expectsContinue);
    return this.pace.tooSlow(now, this.received, clientOnly) && !isGrpc(x);
  }

  private giveUp(x: Exchange): void {
    detachAttempt(x)();
    x.status = 408;
    x.failure = TOO_SLOW;
    if (!this.gone) x.bytesSent += refuse(this.stream, 408, TOO_SLOW);
    this.settle(x);
  }

  /** Ends the stream if a body has made no progress for too long on the client's side. */
  sweep(now: number): void {
    const { stream, x } = this;
    if (this.detached) return;
    if (x !== null && this.tooSlow(x, now)) return this.giveUp(x);
    if (this.drain?.over(now) === true) {
      if (this.early !== null) return this.endResponse();
      if (this.allSent) return releaseStream(stream);
    }
    const progress = this.received + (x?.bytesSent ?? 0) - stream.writableLength;
    const waitsForUs =
      x !== null && this.held === null && stream.writableLength === 0 && (this.inputEnded || x.bodyLength === 0 || stream.isPaused());
    if (progress !== this.progressSeen || waitsForUs) {
      this.progressSeen = progress;
      this.lastProgress = now;
    } else if (now - this.lastProgress >= BODY_IDLE_MS) {
      // Checked last, so that it costs other requests nothing.
      if (x !== null && this.held === null && stream.writableLength === 0 && isGrpc(x)) {
        this.lastProgress = now;
        return;
      }
      cancelStream(stream);
    }
  }
}
