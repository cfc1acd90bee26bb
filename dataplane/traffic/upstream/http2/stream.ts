import { type ClientHttp2Session, type ClientHttp2Stream, constants } from 'node:http2';
import type { ResponseHead } from '../../codec/http1/response-head.ts';
import { fieldsByName, trailerLines } from '../../codec/http2/request-text.ts';
import { answerText } from '../../codec/http2/response-text.ts';
import type { Attempt } from '../../exchange/attempt.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { FAILURE, type Failure } from '../../exchange/failure.ts';
import { guard, guarded } from '../../exchange/faults.ts';
import { isGrpc } from '../../exchange/grpc.ts';
import { attemptFailed } from '../../exchange/later.ts';
import type { Limits } from '../../exchange/limits.ts';
import { abortAnswer, endAnswer, flushAnswer, relayBody, relayHead } from '../../exchange/relay.ts';
import { coalesceSmallPieces } from '../../io/small-pieces.ts';
import { cancelStream, releaseStream } from '../../io/stream-ends.ts';
import type { Endpoint } from '../endpoint.ts';
import { limitsFor } from '../limits.ts';
import { mayRetry } from '../retry.ts';
import { brokeOff, goesElsewhere } from '../verdict.ts';
import { requestFields } from './request-fields.ts';

/** Most interim responses (1xx) before the final one. */
const MAX_INTERIM = 32;
const { NGHTTP2_FLAG_END_STREAM, NGHTTP2_NO_ERROR, NGHTTP2_PROTOCOL_ERROR, NGHTTP2_REFUSED_STREAM } = constants;

/** Alternating field names and values, as the library reports them. */
type Raw = readonly string[] | undefined;

/** What a stream needs from its session. */
export interface StreamOwner {
  readonly endpoint: Endpoint;
  /** Reads one response head after the other. */
  readonly head: ResponseHead;
  /** Whether the connection is open. */
  readonly alive: boolean;
  /** Whether the target has sent GOAWAY, so that it only completes the open streams (RFC 9113 6.8). */
  readonly isDraining: boolean;
  /** Whether it has completed an exchange. If so, its loss says nothing about the health of the target. */
  readonly hasServed: boolean;
  /** The failure of its streams if it ends. */
  readonly reason: Failure;
  /** The stream has ended. `answered`: whether a response had begun. */
  over(stream: UpstreamStream, answered: boolean): void;
}

/** One exchange with a target over HTTP/2. */
export class UpstreamStream implements Attempt {
  private readonly session: StreamOwner;
  private x: Exchange | null;
  private stream: ClientHttp2Stream | null = null;
  private readonly ledgerSlot: number;
  private deadline: number;
  private readonly limits: Limits;
  /** The fields of the response as received. */
  private fields: readonly string[] = [];
  private answered = false;
  private begun = false;
  /** Remaining bytes of the response; null if the target did not announce a length. */
  private remaining: number | null = null;
  /** If no length was announced: whether the target has marked the end of the response. */
  private endMarked = true;
  private requestComplete = false;
  private interim = 0;
  private requestTrailers = '';
  private trailers = '';

  constructor(session: StreamOwner, x: Exchange) {
    const { endpoint } = session;
    this.session = session;
    this.x = x;
    this.ledgerSlot = endpoint.ledgerSlot;
    this.limits = limitsFor(x);
    this.deadline = endpoint.tools.clock.monotonic() + this.limits.headMs;
  }

  begin(http2: ClientHttp2Session): void {
    const { x, session } = this;
    if (x === null) return;
    const { serverName } = session.endpoint;
    session.endpoint.begin();
    x.attempt = this;
    x.trace?.spans?.sent();
    const whole = x.held !== null || x.bodyLength === 0;
    const endStream = whole && (x.held === null || x.held.length === 0);
    const stream = http2.request(requestFields(x, serverName === null ? 'http' : 'https'), { endStream, waitForTrailers: !whole });
    this.stream = stream;
    coalesceSmallPieces(stream, (error) => this.onFault(error));
    // The close event that follows is handled.
    stream.on('error', () => undefined);
    stream.on('close', () => guard(this, this.closed));
    stream.on('headers', (_fields, _flags, raw) => guard(this, this.informed, raw));
    stream.once('response', (_fields, flags, raw) => guard(this, this.answer, raw, (flags & NGHTTP2_FLAG_END_STREAM) !== 0));
    stream.on('trailers', (_fields, _flags, raw) => guard(this, this.receiveTrailers, raw));
    stream.on('data', (piece: Buffer) => guard(this, this.pass, piece));
    stream.on('end', () => guard(this, this.ended));
    stream.on(
      'drain',
      guarded(this, () => this.x?.client.resumeBody()),
    );
    if (!whole) stream.once('wantTrailers', () => guard(this, this.sendTrailers));
    this.requestComplete = whole;
    if (whole && !endStream) stream.end(x.held);
    else if (!whole) x.client.streamBody(x);
  }

  // The request.

  body(buffer: Buffer, from: number, to: number): boolean {
    const { x, stream } = this;
    if (x === null || stream === null) return false;
    x.bodyConsumed = true;
    // A long upload is progress: the time limit of the response starts when the request is complete.
    this.deadline = this.now() + this.limits.headMs;
    return stream.write(buffer.subarray(from, to));
  }

  bodyEnd(trailers: string): void {
    this.requestComplete = true;
    if (this.x === null) return;
    this.x.bodyConsumed = true;
    this.requestTrailers = trailers;
    this.stream?.end();
  }

  private sendTrailers(): void {
    const { stream } = this;
    if (stream !== null && !stream.closed && !stream.destroyed) stream.sendTrailers(fieldsByName(this.requestTrailers));
  }

  resume(): void {
    this.deadline = this.now() + this.limits.bodyIdleMs;
    this.stream?.resume();
  }

  /** The exchange no longer needs it. */
  cancel(): void {
    this.settle();
    if (this.stream !== null) cancelStream(this.stream);
  }

  /** The request that waits here for its response, if it may be sent again now; otherwise null. */
  get retryable(): Exchange | null {
    const { x, answered } = this;
    // A body that is still arriving is being streamed to this very stream.
    if (x === null || !this.requestComplete) return null;
    return mayRetry(x, { written: true, answered, reused: false }) ? x : null;
  }

  // The response.

  private informed(raw: Raw): void {
    const { x } = this;
    if (x === null || this.begun) return;
    this.answered = true;
    const head = this.read(x, raw ?? []);
    if (head === null || head.status === 101 || ++this.interim > MAX_INTERIM) return this.refuse();
    x.client.informational(head.status, head.reason, head.fields.kept);
    x.client.flush();
  }

  private answer(raw: Raw, ends: boolean): void {
    const { x } = this;
    if (x === null) return;
    this.answered = true;
    const head = this.read(x, raw ?? []);
    if (head === null || head.status < 200) return this.refuse();
    const { fields } = head;
    // RFC 9113 8.1.1: Content-Length contradicts END_STREAM.
    if (ends && fields.contentLength > 0 && !head.bodyless(x.method)) return this.refuse();
    if (goesElsewhere(x, this.session.endpoint, head.status)) return this.fail(FAILURE.retriedStatus, true);
    this.begun = true;
    this.fields = raw ?? [];
    x.trace?.spans?.answered(head.status);
    this.deadline = this.now() + this.limits.bodyIdleMs;
    relayHead(x, head);
    if (ends) return this.finish();
    if (!head.bodyless(x.method)) this.expect(fields.contentLength);
    flushAnswer(x);
  }

  /** A reset with NO_ERROR ends the stream just like END_STREAM, so a truncated body is detected here. */
  private expect(length: number): void {
    const { stream } = this;
    if (stream === null) return;
    if (length >= 0) {
      this.remaining = length;
      return;
    }
    this.endMarked = false;
    // The library adds its `end` listener at END_STREAM while the stream is still open, and at a reset only after closing it.
    stream.on('newListener', (event) => {
      if (event === 'end' && !stream.closed) this.endMarked = true;
    });
  }

  private read(x: Exchange, raw: readonly string[]): ResponseHead | null {
    const text = answerText(raw);
    if (text === null) return null;
    const bytes = Buffer.from(text, 'latin1');
    const { head } = this.session;
    const limits = limitsFor(x).head;
    if (bytes.length > limits.bytes) return null;
    head.fields.most = limits.lines;
    return head.parse(bytes, 0, bytes.length, x.block?.fields.overrides ?? null) === null ? head : null;
  }

  private pass(piece: Buffer): void {
    const { x } = this;
    if (x === null || !this.begun) return;
    this.deadline = this.now() + this.limits.bodyIdleMs;
    if (this.remaining !== null) this.remaining -= piece.length;
    if (!relayBody(x, piece, 0, piece.length)) this.stream?.pause();
    if (this.x === x) flushAnswer(x);
  }

  private receiveTrailers(raw: Raw): void {
    this.endMarked = true;
    const lines = trailerLines(raw ?? []);
    if (lines === null) this.refuse();
    else this.trailers = lines;
  }

  private ended(): void {
    // The readable side of a reset stream ends too, although the response is incomplete.
    const whole = this.begun && (this.remaining ?? 0) === 0 && this.endMarked;
    if (whole && this.x !== null && this.stream?.rstCode === NGHTTP2_NO_ERROR) this.finish();
  }

  /** The response is complete. The stream is freed before the client's next request is parsed. */
  private finish(): void {
    const { x, stream } = this;
    if (x === null) return;
    x.trace?.spans?.attemptOver(null);
    try {
      this.settle();
      // The target no longer needs the rest of the request (RFC 9113 8.1).
      if (!this.requestComplete && stream !== null) releaseStream(stream);
    } finally {
      endAnswer(x, this.trailers);
    }
  }

  // The end.

  /** A response that violates the rules. */
  private refuse(): void {
    this.fail(FAILURE.malformed, true);
  }

  private closed(): void {
    const { stream, session } = this;
    if (this.x === null || stream === null) return;
    switch (stream.rstCode) {
      case NGHTTP2_REFUSED_STREAM:
        // The request was not processed (RFC 9113 8.7). If the target is shutting down, that is not a failure of its own.
        return this.fail(session.isDraining ? FAILURE.closed : FAILURE.turnedAway, false);
      case NGHTTP2_PROTOCOL_ERROR:
        return this.fail(FAILURE.malformed, true);
      default:
        return this.fail(session.alive ? FAILURE.reset : session.reason, true);
    }
  }

  /** What happens to its exchange depends on how far it had come. `written`: whether the target may have processed the request. */
  private fail(failure: Failure, written: boolean): void {
    const { x, session, stream } = this;
    if (x === null) return;
    const { endpoint, hasServed } = session;
    if (this.begun) brokeOff(x, endpoint, failure);
    try {
      this.settle();
      if (stream !== null) cancelStream(stream);
    } finally {
      if (this.begun) abortAnswer(x);
      else attemptFailed(x, endpoint, failure, { written, answered: this.answered, reused: hasServed });
    }
  }

  /** Its state can't be trusted any more. */
  onFault(error: unknown): void {
    const { x, stream, session } = this;
    const { address, tools } = session.endpoint;
    tools.faults.step(() => this.settle());
    if (stream !== null) tools.faults.step(() => cancelStream(stream));
    if (x !== null) x.client.onFault(error);
    else tools.faults.note('connection', error, { target: address });
  }

  private settle(): void {
    const { x, session } = this;
    if (x === null) return;
    session.endpoint.end(this.ledgerSlot);
    this.x = null;
    x.attempt = null;
    session.over(this, this.begun);
  }

  sweep(now: number): void {
    const { stream, x } = this;
    if (now < this.deadline || stream === null || x === null) return;
    // Clients that send or read slowly have their own time limits and are not the target's fault.
    if (stream.isPaused() || this.waitsForClient(stream) || isGrpc(x) || this.streamsEvents())
      this.deadline = now + (this.begun ? this.limits.bodyIdleMs : this.limits.headMs);
    else this.fail(this.begun ? FAILURE.bodyTimeout : FAILURE.headTimeout, true);
  }

  /** An event stream may be silent without a limit. */
  private streamsEvents(): boolean {
    const at = this.fields.indexOf('content-type');
    return at > 0 && /^text\/event-stream\b/i.test(this.fields[at + 1] ?? '');
  }

  private waitsForClient(stream: ClientHttp2Stream): boolean {
    const { x } = this;
    if (x === null || this.begun || this.requestComplete || stream.writableNeedDrain) return false;
    return x.bodyConsumed || !x.expectsContinue;
  }

  private now(): number {
    return this.session.endpoint.tools.clock.monotonic();
  }
}
