import type { Socket } from 'node:net';
import { ChunkedDecoder } from '../../codec/http1/chunked.ts';
import { fieldIn } from '../../codec/http1/kept-lines.ts';
import type { ResponseHead } from '../../codec/http1/response-head.ts';
import { ResponseHeadReader } from '../../codec/http1/response-head-reader.ts';
import type { Attempt } from '../../exchange/attempt.ts';
import type { Downstream, Exchange } from '../../exchange/exchange.ts';
import { connectFailure, FAILURE, type Failure } from '../../exchange/failure.ts';
import { guard, guarded } from '../../exchange/faults.ts';
import { attemptFailed } from '../../exchange/later.ts';
import { DEFAULT_LIMITS, type Limits, MAX_INTERIM } from '../../exchange/limits.ts';
import { abortAnswer, endAnswer, flushAnswer, relayHead, relayInterim } from '../../exchange/relay.ts';
import { streamBody } from '../../exchange/request-body.ts';
import { streamHasBacklog } from '../../io/backlog.ts';
import { type DirectReader, DirectSocket } from '../../io/direct-socket.ts';
import { Intake } from '../../io/intake.ts';
import { failedMidResponse, retriesElsewhere } from '../health/verdict.ts';
import { mayRetry } from '../retry/retry.ts';
import { openTo } from '../target/connect.ts';
import type { Endpoint } from '../target/endpoint.ts';
import { limitsFor } from '../target/limits.ts';
import type { ConnectionOwner } from './connection-owner.ts';
import { RequestWriter } from './request-writer.ts';
import { ResponseBuffer } from './response-buffer.ts';

const NEVER = Number.POSITIVE_INFINITY;
const EVENTS = /^text\/event-stream\b/i;

const STATE = { connecting: 0, idle: 1, head: 2, length: 3, chunked: 4, untilClose: 5, closed: 6 } as const;

/** One connection to a target, one exchange at a time. */
export class UpstreamConnection implements Attempt, DirectReader {
  private readonly endpoint: Endpoint;
  private readonly owner: ConnectionOwner<UpstreamConnection>;
  socket: Socket | null = null;
  private direct: DirectSocket | null = null;
  private intake: Intake | null = null;
  private writer: RequestWriter | null = null;
  private x: Exchange | null = null;
  private state: number = STATE.connecting;
  private readonly heads = new ResponseHeadReader();
  private readonly buffer = new ResponseBuffer();
  private decoder: ChunkedDecoder | null = null;
  private partial: Buffer | null = null;
  private remaining = 0;
  private deadline = NEVER;
  idleSince = 0;
  /** The only client whose requests it may be used for; null if there is none. */
  boundTo: Downstream | null = null;
  /** When the last bytes arrived, in ms on the monotonic clock. */
  private readAt = 0;
  /** Time limits for the current exchange. */
  private limits: Limits = DEFAULT_LIMITS;
  /** Whether its target may have closed it meanwhile: it has served a request or been idle. */
  private reused = false;
  private interim = 0;
  private wasEstablished = false;
  private written = false;
  private answered = false;
  private requestComplete = false;
  private keepAlive = true;

  /** `connectMs` is the time limit for connecting. */
  constructor(endpoint: Endpoint, owner: ConnectionOwner<UpstreamConnection>, connectMs: number) {
    this.endpoint = endpoint;
    this.owner = owner;
    this.deadline = endpoint.tools.clock.monotonic() + connectMs;
  }

  /** Opens it. May fail before this returns. */
  connect(): void {
    this.endpoint.tools.resolver.resolve(this.endpoint.host, (error, addresses) => guard(this, this.open, error, addresses));
  }

  private open(error: NodeJS.ErrnoException | null, addresses: readonly string[]): void {
    const { endpoint } = this;
    if (this.state === STATE.closed) return;
    if (error !== null) return this.fail(connectFailure(error));
    const { serverName, host } = endpoint;
    const connectMs = this.deadline - endpoint.tools.clock.monotonic();
    const socket = openTo(endpoint, { addresses, connectMs }, { alpn: 'http/1.1' });
    socket.setNoDelay(true);
    this.socket = socket;
    socket.on(serverName === null ? 'connect' : 'secureConnect', () => guard(this, this.connected, socket));
    socket.on('drain', () => guard(this, this.writable));
    socket.on('end', () => guard(this, this.ended));
    const failed = (error: NodeJS.ErrnoException): void => {
      if (this.state !== STATE.connecting) return this.fail(FAILURE.closed);
      this.endpoint.tools.resolver.forget(host);
      this.endpoint.session = null;
      this.fail(connectFailure(error));
    };
    socket.on('error', guarded(this, failed));
    socket.on('close', () => guard(this, this.gone));
  }

  /** `now` in ms on the monotonic clock. */
  send(x: Exchange, now = this.endpoint.tools.clock.monotonic()): void {
    this.endpoint.begin();
    this.x = x;
    this.limits = limitsFor(x);
    x.attempt = this;
    this.written = false;
    this.answered = false;
    this.interim = 0;
    this.requestComplete = false;
    if (this.state !== STATE.connecting) this.write(x, now);
    else x.trace?.spans?.waits('connect');
  }

  private connected(socket: Socket): void {
    const { x } = this;
    if (this.endpoint.isGone) return this.fail(FAILURE.noTarget);
    const direct = new DirectSocket(socket, this);
    // Don't wait for the rest of a request that can't be written: the target may already have sent a response.
    this.writer = new RequestWriter(direct, () => guard(this, this.writable));
    this.intake = new Intake(direct, this.endpoint.tools.runQueue, () => this.intake?.readOn());
    this.direct = direct;
    direct.read();
    this.state = STATE.idle;
    this.wasEstablished = true;
    this.owner.established(this, x !== null);
    if (x !== null) this.write(x, this.endpoint.tools.clock.monotonic());
    this.endpoint.tools.connected(this.endpoint);
  }

  private write(x: Exchange, now: number): void {
    this.state = STATE.head;
    this.deadline = now + this.limits.headMs;
    this.written = true;
    x.trace?.spans?.sent();
    this.requestComplete = this.writer?.begin(x) ?? false;
    if (!this.requestComplete) streamBody(x);
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    const { x, writer } = this;
    if (x === null || writer === null) return false;
    x.bodyConsumed = true;
    // A long upload is progress: the time limit of the response starts when the request is complete.
    this.deadline = this.endpoint.tools.clock.monotonic() + this.limits.headMs;
    return writer.body(x, buffer, from, to);
  }

  private writable(): void {
    this.x?.client.resumeBody();
  }

  bodyEnd(trailers: string): void {
    this.requestComplete = true;
    if (this.x === null) return;
    // An empty chunked body counts as sent too: another attempt would wait for its end in vain.
    this.x.bodyConsumed = true;
    this.writer?.end(this.x, trailers);
  }

  resume(): void {
    this.intake?.resume();
  }

  /** The request that waits here for its response, if it may be sent again now; otherwise null. */
  get retryable(): Exchange | null {
    const { x, written, answered } = this;
    // A body that is still arriving is being streamed to this very connection.
    if (x === null || this.state > STATE.head || (written && !this.requestComplete)) return null;
    return mayRetry(x, { written, answered, reused: false }) ? x : null;
  }

  cancel(): void {
    this.release();
    if (this.state === STATE.connecting) this.owner.abandoned(this);
    else this.destroy();
  }

  /** Detaches the exchange and counts it once. */
  private release(): void {
    if (this.x === null) return;
    this.endpoint.end(this.endpoint.ledgerSlot);
    this.x.attempt = null;
    this.x = null;
  }

  /** Its state can't be trusted any more. */
  onFault(error: unknown): void {
    const { x } = this;
    const { faults } = this.endpoint.tools;
    this.release();
    faults.step(() => this.destroy());
    if (x !== null) x.client.onFault(error);
    else faults.note('connection', error, { target: this.endpoint.address });
  }

  /** `failure` is why it was not established; null if it was, or if it is no longer needed. */
  destroy(failure: Failure | null = null): void {
    if (this.state === STATE.closed) return;
    this.state = STATE.closed;
    this.deadline = NEVER;
    this.socket?.destroy();
    this.owner.closed(this, this.wasEstablished, this.wasEstablished ? null : failure);
  }

  /** Makes it idle, in ms on the monotonic clock. */
  idle(since: number, until: number): void {
    this.reused = true;
    this.idleSince = since;
    this.deadline = until;
  }

  get isIdle(): boolean {
    return this.state === STATE.idle;
  }

  /** Whether its idle time limit has expired. */
  expired(now: number): boolean {
    return now >= this.deadline;
  }

  /** Since when what has arrived waits for a client to read; NEVER if nothing does. */
  get unreadSince(): number {
    return this.state > STATE.head && this.direct?.paused === true ? this.readAt : NEVER;
  }

  sweep(now: number): void {
    if (this.socket !== null && streamHasBacklog(this.socket)) return this.fail(FAILURE.closed);
    if (now < this.deadline) return;
    switch (this.state) {
      case STATE.idle:
        return this.owner.idleExpired(this, now);
      case STATE.connecting:
        return this.fail(FAILURE.connectTimeout);
      case STATE.head:
        // A client that sends slowly has its own time limit and is not the target's fault either.
        if (this.waitsForClient()) this.deadline = now + this.limits.headMs;
        else this.fail(FAILURE.headTimeout);
        return;
      default:
        // Neither a client that reads slowly, which pauses the socket, is the target's fault, nor that no event happens in a stream of them.
        if (this.direct?.paused || EVENTS.test(fieldIn(this.heads.head.fields.kept, 'content-type') ?? ''))
          this.deadline = now + this.limits.bodyIdleMs;
        else this.fail(FAILURE.bodyTimeout);
    }
  }

  private waitsForClient(): boolean {
    const { x, socket } = this;
    if (x === null || socket === null || this.requestComplete || socket.writableNeedDrain) return false;
    return x.bodyConsumed || !x.expectsContinue || x.maySendBody;
  }

  nextBuffer(): Buffer {
    const { x } = this;
    if (x === null || this.state <= STATE.head) return this.buffer.nextOfHead();
    return this.buffer.nextOfBody(x);
  }

  receive(chunk: Buffer): void {
    const x = this.x;
    // Unsolicited bytes: a response without a request, or bytes after a response.
    if (x === null) return this.destroy();
    this.answered = true;
    this.readAt = this.endpoint.tools.clock.monotonic();
    if (this.state === STATE.head) {
      const buffer = this.heads.join(this.partial, chunk);
      this.partial = null;
      const at = this.readHeads(x, buffer);
      if (at >= 0) this.readBody(x, buffer, at);
    } else this.readBody(x, chunk, 0);
    if (this.x === x) flushAnswer(x);
  }

  /** Reads interim heads and the final one. @returns where its body begins, or -1 when the head is incomplete or invalid. */
  private readHeads(x: Exchange, buffer: Buffer): number {
    const { heads } = this;
    const { head } = heads;
    let start = 0;
    for (;;) {
      const end = heads.read(buffer, start, this.limits.head, x.block?.fields.overrides ?? null);
      if (heads.fault !== null) return this.refuse(heads.tooLong ? FAILURE.longHead : FAILURE.malformed);
      if (end < 0) {
        this.partial = heads.keep(buffer.subarray(start));
        return -1;
      }
      start = end;
      if (head.status === 101) return this.refuse(FAILURE.malformed);
      if (head.status >= 200) {
        if (retriesElsewhere(x, this.endpoint, head.status)) return this.refuse(FAILURE.retriedStatus);
        this.beginAnswer(x, head);
        return start;
      }
      if (++this.interim > MAX_INTERIM) return this.refuse(FAILURE.malformed);
      relayInterim(x, head);
    }
  }

  private refuse(failure: Failure): number {
    this.fail(failure);
    return -1;
  }

  /** RFC 9112 6.3: how the body ends. Bytes after it are dropped, and the connection is closed. */
  private beginAnswer(x: Exchange, head: ResponseHead): void {
    const { fields } = head;
    const bodyless = head.bodyless(x.method);
    if (bodyless) {
      this.remaining = 0;
      this.state = STATE.length;
    } else if (fields.chunked) {
      this.state = STATE.chunked;
      this.decoder ??= new ChunkedDecoder('response');
      this.decoder.reset();
    } else if (fields.contentLength >= 0) {
      this.remaining = fields.contentLength;
      this.state = STATE.length;
    } else this.state = STATE.untilClose;
    x.answerEndsAtClose = this.state === STATE.untilClose;
    this.keepAlive = !fields.connectionClose && (head.minor === 1 || fields.connectionKeepAlive);
    if (bodyless && head.announcesBody(x.method)) this.keepAlive = false;
    x.trace?.spans?.answered(head.status);
    this.deadline = this.readAt + this.limits.bodyIdleMs;
    relayHead(x, head);
  }

  private readBody(x: Exchange, buffer: Buffer, at: number): void {
    switch (this.state) {
      case STATE.length: {
        const to = Math.min(buffer.length, at + this.remaining);
        this.remaining -= to - at;
        if (to > at) this.pass(x, buffer, at, to);
        if (to < buffer.length) this.keepAlive = false;
        if (this.remaining === 0) this.finish(x, '');
        return;
      }
      case STATE.chunked: {
        const decoder = this.decoder as ChunkedDecoder;
        const to = decoder.feed(buffer, at, buffer.length, this);
        this.intake?.spend(decoder.framing);
        if (decoder.fault !== null) return this.fail(FAILURE.malformed);
        if (to < buffer.length) this.keepAlive = false;
        if (decoder.done) this.finish(x, decoder.trailers);
        else this.intake?.isTurnOver();
        return;
      }
      case STATE.untilClose:
        if (at < buffer.length) this.pass(x, buffer, at, buffer.length);
    }
  }

  /** A decoded piece of a chunked body. */
  bodyPiece(buffer: Buffer, from: number, to: number): void {
    if (this.x !== null) this.pass(this.x, buffer, from, to);
  }

  private pass(x: Exchange, buffer: Buffer, from: number, to: number): void {
    this.deadline = this.readAt + this.limits.bodyIdleMs;
    if (!this.buffer.pass(x, buffer, from, to)) this.intake?.holdBack();
  }

  /** The response is complete. The connection is freed before the client's next request is parsed, so that it can be reused for it. */
  private finish(x: Exchange, trailers: string): void {
    if (this.x !== x) return; // The receiver of the last piece has cancelled the rest, and the connection is closed.
    x.trace?.spans?.attemptOver(null);
    this.buffer.bodyEnds(x.client);
    this.release();
    this.reused = true;
    try {
      if (this.keepAlive && this.requestComplete && this.writer?.failed === false && this.state !== STATE.untilClose) {
        this.state = STATE.idle;
        this.intake?.resume();
        this.owner.finished(this, this.heads.head.fields.keepAliveTimeout, this.readAt);
      } else this.destroy();
    } finally {
      endAnswer(x, trailers);
    }
  }

  private gone(): void {
    this.fail(FAILURE.closed);
    this.owner.closed(this, this.wasEstablished, null);
  }

  private ended(): void {
    // If a write has already reported a reset, reads see an ordinary end.
    if (this.x !== null && this.state === STATE.untilClose && this.writer?.cut === false) return this.finish(this.x, '');
    this.fail(FAILURE.closed);
  }

  /** The connection can't be used any more. What happens to its exchange depends on how far it had got. */
  fail(failure: Failure): void {
    if (this.state === STATE.closed) return;
    const { x, endpoint, written, answered } = this;
    const begun = this.state > STATE.head;
    if (begun && x !== null) failedMidResponse(x, endpoint, failure);
    if (x === null && this.state === STATE.idle) this.owner.closedByTarget(this);
    this.destroy(failure);
    this.release();
    if (x === null) return;
    if (begun) abortAnswer(x);
    else attemptFailed(x, endpoint, failure, { written, answered, reused: this.reused });
  }
}
