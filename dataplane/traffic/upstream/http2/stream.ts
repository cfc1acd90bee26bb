import type { ResponseHead } from '../../codec/http1/response-head.ts';
import { ERROR } from '../../codec/http2/frames/frame.ts';
import type { ResponseBlock } from '../../codec/http2/headers/response-block.ts';
import type { Http2Stream } from '../../codec/http2/stream.ts';
import type { StreamReceiver } from '../../codec/http2/stream-receiver.ts';
import type { Attempt } from '../../exchange/attempt.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { FAILURE, type Failure } from '../../exchange/failure.ts';
import { guard } from '../../exchange/faults.ts';
import { isGrpc, isPastDeadline } from '../../exchange/grpc.ts';
import { attemptFailed } from '../../exchange/later.ts';
import { type Limits, MAX_INTERIM } from '../../exchange/limits.ts';
import { abortAnswer, endAnswer, flushAnswer, relayBody, relayHead, relayInterim } from '../../exchange/relay.ts';
import { passStart } from '../../exchange/request-body.ts';
import { failedMidResponse, retriesElsewhere } from '../health/verdict.ts';
import { mayRetry } from '../retry/retry.ts';
import type { Endpoint } from '../target/endpoint.ts';
import { limitsFor } from '../target/limits.ts';
import { requestHead } from './request-fields.ts';
import { SentBody } from './sent-body.ts';

/** What a slow client reads (bytes per ms). */
const SLOW_PER_MS = 16;
/** Servers turn a request away at once: after this time (ms), they have accepted it. */
const ACCEPTED_MS = 1_000;
/** Codes that mean a malformed message: one that the target blames us for, or one of the target's. */
const MALFORMED: ReadonlySet<number> = new Set([ERROR.protocol, ERROR.frameSize, ERROR.compression, ERROR.flowControl]);

/** No server has a lower limit for heads. */
const SMALL_HEAD = { bytes: 4_096, fields: 64 };

/** Servers may turn a request away for its head, which any client can make too large for them: that says nothing about others. */
const hasLargeHead = ({ upstreamTarget: target, upstreamFields: fields }: Exchange): boolean =>
  target.length + fields.length > SMALL_HEAD.bytes || fields.split('\n').length > SMALL_HEAD.fields;

/** What a stream needs from its session. */
export interface StreamOwner {
  readonly endpoint: Endpoint;
  /** Reads one response head after the other. */
  readonly head: ResponseHead;
  /** Whether the connection is open. */
  readonly alive: boolean;
  /** Whether nothing is read of the target, because clients do not read what it has sent. */
  readonly holdsTarget: boolean;
  /** Whether it only completes the open streams, mostly because the target has sent GOAWAY (RFC 9113 6.8). */
  readonly isDraining: boolean;
  /** Whether it has taken more than one request. */
  readonly isShared: boolean;
  /** Whether it has completed an exchange. If so, its loss says nothing about the health of the target. */
  readonly hasServed: boolean;
  /** The failure of its streams if it ends. */
  readonly reason: Failure;
  turnedAway(): void;
  /** The target has accepted its request, as far as that is known, or will not; called once. */
  accepted(): void;
  /** The stream has ended. `answered`: whether a response had begun. */
  streamEnded(stream: UpstreamStream, answered: boolean): void;
}

/** One exchange with a target over HTTP/2. */
export class UpstreamStream implements Attempt, StreamReceiver {
  private readonly session: StreamOwner;
  private readonly stream: Http2Stream;
  private x: Exchange | null;
  private readonly ledgerSlot: number;
  private readonly sentAt: number;
  private deadline: number;
  private readonly limits: Limits;
  private isEventStream = false;
  /** Whether a head has arrived, interim or final. */
  private answered = false;
  /** Whether its response has begun: the final head has arrived. */
  private begun = false;
  private requestComplete = false;
  /** What has been sent of a body that was not held; null if it can't be sent again. */
  private sent: SentBody | null = null;
  /** Whether the rest of a body waits until its beginning has been sent again. */
  private restWaits = false;
  private isAccepted = false;
  private interim = 0;
  /** When a slow client has read the last bytes that were passed on, in ms on the monotonic clock. */
  private unreadFrom = 0;

  constructor(session: StreamOwner, x: Exchange, stream: Http2Stream) {
    const { endpoint } = session;
    this.session = session;
    this.stream = stream;
    this.x = x;
    this.ledgerSlot = endpoint.ledgerSlot;
    this.limits = limitsFor(x);
    this.sentAt = endpoint.tools.clock.monotonic();
    this.deadline = this.sentAt + this.limits.headMs;
  }

  get id(): number {
    return this.stream.id;
  }

  begin(): void {
    const { x, session, stream } = this;
    if (x === null) return;
    stream.receiver = this;
    session.endpoint.begin();
    x.attempt = this;
    x.trace?.spans?.sent();
    const { held } = x;
    const empty = held === null ? x.bodyLength === 0 : held.length === 0;
    stream.head(requestHead(x, session.endpoint.serverName === null ? 'http' : 'https'), empty);
    this.requestComplete = held !== null || empty;
    if (empty) return;
    if (held === null) return this.beginBody(x);
    stream.write(held, 0, held.length);
    stream.end('');
  }

  private beginBody(x: Exchange): void {
    this.sent = new SentBody();
    // More would be forgotten as too much, and could not be sent again.
    if (passStart(x)) x.client.streamBody(x);
    else this.restWaits = true;
  }

  // The request.

  body(buffer: Buffer, from: number, to: number): boolean {
    const { x } = this;
    if (x === null) return false;
    x.bodyConsumed = true;
    if (this.sent?.add(buffer.subarray(from, to)) === false) this.forgetSent();
    // A long upload is progress: the time limit of the response starts when the request is complete.
    this.deadline = this.now() + this.limits.headMs;
    return this.stream.write(buffer, from, to);
  }

  bodyEnd(trailers: string): void {
    this.requestComplete = true;
    if (this.x === null) return;
    this.x.bodyConsumed = true;
    if (trailers !== '') this.forgetSent();
    this.stream.end(trailers);
  }

  drained(): void {
    const { x, restWaits } = this;
    if (x === null) return;
    this.restWaits = false;
    if (restWaits) x.client.streamBody(x);
    else x.client.resumeBody();
  }

  resume(): void {
    this.deadline = this.now() + this.limits.bodyIdleMs;
    this.stream.resume();
  }

  /** The exchange no longer needs it. */
  cancel(): void {
    this.drop(ERROR.cancel);
  }

  /** The request that waits here for its response, if it may be sent again now; otherwise null. */
  get retryable(): Exchange | null {
    const { x, answered } = this;
    // A body that is still arriving is being streamed to this very stream.
    if (x === null || !this.requestComplete) return null;
    return mayRetry(x, { written: true, answered, reused: false }) ? x : null;
  }

  // The response.

  /** A head has arrived, interim or final. */
  answer(block: ResponseBlock, tooLarge: boolean): void {
    guard(this, this.receiveHead, block, tooLarge);
  }

  private receiveHead(block: ResponseBlock, tooLarge: boolean): void {
    const { x, stream } = this;
    if (x === null) return;
    this.answered = true;
    this.forgetSent();
    this.accept();
    const head = tooLarge ? null : this.read(x, block);
    if (head === null) return this.refuse();
    if (head.status >= 200) return this.receiveFinal(x, head);
    if (stream.inputEnded || head.status === 101 || ++this.interim > MAX_INTERIM) return this.refuse();
    relayInterim(x, head);
    x.client.flush();
  }

  private receiveFinal(x: Exchange, head: ResponseHead): void {
    const { stream } = this;
    const { contentLength, contentType } = head.fields;
    const bodyless = head.bodyless(x.method);
    stream.headReceived = true;
    // RFC 9113 8.1.1: Content-Length contradicts END_STREAM.
    if (stream.inputEnded && contentLength > 0 && !bodyless) return this.refuse();
    stream.expected = bodyless ? 0 : contentLength;
    if (retriesElsewhere(x, this.session.endpoint, head.status)) return this.fail(FAILURE.retriedStatus, true);
    this.begun = true;
    this.isEventStream = /^text\/event-stream\b/i.test(contentType ?? '');
    x.trace?.spans?.answered(head.status);
    this.deadline = this.now() + this.limits.bodyIdleMs;
    relayHead(x, head);
    if (stream.inputEnded) return this.finish('');
    flushAnswer(x);
  }

  private read(x: Exchange, block: ResponseBlock): ResponseHead | null {
    if (!block.finish()) return null;
    const { head } = this.session;
    const limits = limitsFor(x).head;
    if (block.to - block.from > limits.bytes) return null;
    head.fields.maxFields = limits.lines;
    return head.parse(block.lines.bytes, block.from, block.to, x.block?.fields.overrides ?? null) === null ? head : null;
  }

  data(buffer: Buffer, from: number, to: number): boolean {
    const { x } = this;
    if (x === null || !this.begun) return true;
    const now = this.now();
    this.deadline = now + this.limits.bodyIdleMs;
    this.unreadFrom = now + (to - from) / SLOW_PER_MS;
    if (!relayBody(x, buffer, from, to)) this.stream.pause();
    if (this.x === x) flushAnswer(x);
    return true;
  }

  ended(trailers: string): void {
    this.finish(trailers);
  }

  /** The response is complete. The stream is freed before the client's next request is parsed. */
  private finish(trailers: string): void {
    const { x } = this;
    if (x === null || !this.begun) return;
    x.trace?.spans?.attemptOver(null);
    try {
      // The target no longer needs the rest of the request (RFC 9113 8.1), even if the client has sent all of it.
      if (this.stream.outputEnded) this.settle();
      else this.drop(ERROR.none);
    } finally {
      endAnswer(x, trailers);
    }
  }

  // The end.

  /** A response that violates the rules. */
  private refuse(): void {
    this.fail(FAILURE.malformed, true, ERROR.protocol);
  }

  closed(code: number): void {
    const { session, x } = this;
    if (x === null) return;
    // The request was not processed (RFC 9113 8.7). If the target is shutting down, that is not a failure of its own.
    if (code === ERROR.refusedStream) {
      // Any request of the connection may be why the target has ended it with an error.
      const isWorthAnother = !session.alive && session.isShared && x.resent === 0;
      return this.fail(session.isDraining || isWorthAnother ? FAILURE.closed : FAILURE.turnedAway, false);
    }
    if (code === ERROR.enhanceYourCalm && session.alive) {
      if (!hasLargeHead(x)) session.turnedAway();
      return this.fail(FAILURE.turnedAway, true);
    }
    if (MALFORMED.has(code)) return this.fail(FAILURE.malformed, true);
    // Any client can set a deadline that no target can meet.
    if (code === ERROR.cancel && session.alive && isPastDeadline(x, this.now())) return this.fail(FAILURE.deadline, true);
    this.fail(session.alive ? FAILURE.reset : session.reason, true);
  }

  /** What happens to its exchange depends on how far it had got. `written`: whether the target may have processed the request. */
  private fail(failure: Failure, written: boolean, code: number = ERROR.cancel): void {
    const { x, session } = this;
    if (x === null) return;
    const { endpoint, hasServed } = session;
    // A fresh connection will do for what the target has not processed, even if this one has served nothing.
    const reused = hasServed || (!written && failure === FAILURE.closed);
    if (this.begun) failedMidResponse(x, endpoint, failure);
    if (!written) this.holdSent(x);
    try {
      this.drop(code);
    } finally {
      if (this.begun) abortAnswer(x);
      else attemptFailed(x, endpoint, failure, { written, answered: this.answered, reused });
    }
  }

  /** The target has not processed the request: it can be sent again as if nothing of its body had been. */
  private holdSent(x: Exchange): void {
    if (this.sent === null) return;
    const { whole } = this.sent;
    if (this.requestComplete) x.held = whole;
    else if (whole.length > 0) x.bodyStart = whole;
    x.bodyConsumed = false;
  }

  private forgetSent(): void {
    this.sent?.drop();
    this.sent = null;
  }

  private accept(): void {
    if (this.isAccepted) return;
    this.isAccepted = true;
    this.session.accepted();
  }

  /** Whether the target serves its request, as far as that is known: its response may take long to begin. */
  isServed(now: number): boolean {
    return this.begun || now - this.sentAt >= ACCEPTED_MS;
  }

  /** Since when its client has read nothing; infinite if it waits for its target. */
  get unreadSince(): number {
    return this.x !== null && this.stream.isPaused ? this.unreadFrom : Number.POSITIVE_INFINITY;
  }

  /** Whether what its client has not read uses up the window of the connection. */
  get usesWindow(): boolean {
    return this.stream.usesWindow;
  }

  /** Ends a response that its client does not read, because others need the connection. */
  giveWay(): void {
    this.fail(FAILURE.unread, true);
  }

  /** Its state can't be trusted any more. */
  onFault(error: unknown): void {
    const { x, stream, session } = this;
    const { address, tools } = session.endpoint;
    tools.faults.step(() => this.settle());
    tools.faults.step(() => stream.reset(ERROR.cancel));
    if (x !== null) x.client.onFault(error);
    else tools.faults.note('connection', error, { target: address });
  }

  /** Resets it before another request takes its place, which the target would refuse while it counts this one. */
  private drop(code: number): void {
    try {
      this.stream.reset(code);
    } finally {
      this.settle();
    }
  }

  private settle(): void {
    const { x, session } = this;
    if (x === null) return;
    session.endpoint.end(this.ledgerSlot);
    this.x = null;
    x.attempt = null;
    this.forgetSent();
    this.accept();
    session.streamEnded(this, this.begun);
  }

  sweep(now: number): void {
    const { stream, x } = this;
    if (now - this.sentAt >= ACCEPTED_MS) this.accept();
    if (now < this.deadline || x === null) return;
    // Clients that send or read slowly have their own time limits and are not the target's fault.
    const waits = stream.isPaused || this.session.holdsTarget || this.waitsForClient(x);
    if (waits || isGrpc(x) || this.isEventStream) this.deadline = now + (this.begun ? this.limits.bodyIdleMs : this.limits.headMs);
    else this.fail(this.begun ? FAILURE.bodyTimeout : FAILURE.headTimeout, true);
  }

  /** Once the target has told a client that waits for it to continue, it waits for the client. */
  private waitsForClient(x: Exchange): boolean {
    if (this.begun || this.requestComplete || this.stream.senderPaused) return false;
    return x.bodyConsumed || !x.expectsContinue || x.maySendBody;
  }

  private now(): number {
    return this.session.endpoint.tools.clock.monotonic();
  }
}
