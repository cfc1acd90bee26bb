import { FAULT, type Fault } from '../../codec/http1/fault.ts';
import type { RequestHead } from '../../codec/http1/request-head.ts';
import { RequestHeadReader } from '../../codec/http1/request-head-reader.ts';
import { beginsHttp2, PREFACE } from '../../codec/http2/frames/preface.ts';
import { type ClientFacts, type DetachedSocket, type Downstream, detachAttempt, type Exchange } from '../../exchange/exchange.ts';
import { FAULT_REASON, guard } from '../../exchange/faults.ts';
import { resumeAnswer } from '../../exchange/relay.ts';
import type { AcceptedSocket } from '../../io/accepted-socket.ts';
import { Intake } from '../../io/intake.ts';
import { HEAD_COST } from '../../io/run-queue.ts';
import type { IdleClose } from '../../protocol.ts';
import { beginExchange } from '../begin-exchange.ts';
import { TOO_SLOW } from '../body-pace.ts';
import type { ClientTools, OpenConnection } from '../client-tools.ts';
import { originOf, type Peer } from '../forwarded.ts';
import { AnswerWriter } from './answer-writer.ts';
import { HEAD_MS, LAST_REQUEST_MS, LINGER_MS, limitOf, NEVER, PIPELINE_BYTES, UNSET } from './limits.ts';
import { type RefusalStatus, refusal } from './refusal.ts';
import { RequestBody } from './request-body.ts';
import { ClientSocket } from './socket.ts';

/** A connection to an HTTP/1.x client: parses its requests into exchanges and sends the responses in order. */
export class ClientConnection implements Downstream, OpenConnection {
  address: string;
  private readonly socket: AcceptedSocket;
  private readonly wire: ClientSocket;
  private readonly peer: Peer;
  private readonly tools: ClientTools;
  private readonly heads = new RequestHeadReader();
  private readonly requestBody: RequestBody;
  private readonly writer: AnswerWriter;
  private readonly intake: Intake;
  private x: Exchange | null = null;
  /** Bytes that have been read from the socket and not yet parsed. */
  private pending: Buffer | null = null;
  private processing = false;
  private persist = true;
  private fresh = true;
  /** Whether the client has announced that this request is its last (RFC 9112 9.6). */
  private lastRequest = false;
  private closing = false;
  private inputEnded = false;
  /** Whether the response waits for the client to read. */
  private blocked = false;
  private deadline = UNSET;
  /** Bytes that had been written when a tunnel took over the socket; -1 without a tunnel. */
  private tunnelFrom = -1;
  /** Bytes of the response that had gone out at the last sweep. */
  private sentBefore = 0;

  constructor(socket: AcceptedSocket, peer: Peer, tools: ClientTools) {
    this.socket = socket;
    this.peer = peer;
    this.address = peer.address;
    this.tools = tools;
    this.requestBody = new RequestBody({ pause: () => this.intake.holdBack(), discarded: (bytes) => this.wire.discard(bytes) });
    this.writer = new AnswerWriter(socket);
    this.intake = new Intake(socket, tools.runQueue, () => this.continueReading());
    this.wire = new ClientSocket(socket, this, this.requestBody);
  }

  facts(): ClientFacts {
    return { connection: this.peer, protocol: this.writer.protocol, bodyRead: this.requestBody.received };
  }

  // Receiving.

  receive(chunk: Buffer): void {
    if (this.closing) return this.wire.discard(chunk.length);
    this.pending = this.pending === null ? chunk : this.heads.join(this.pending, chunk);
    this.process();
    if (this.pending !== null) this.pending = this.requestBody.keep(this.pending);
  }

  private process(): void {
    if (!this.processing) guard(this, this.work);
  }

  private work(): void {
    this.processing = true;
    while (this.pending !== null && !this.closing && !this.intake.isTurnOver()) {
      const buffer = this.pending;
      const used = this.step(buffer);
      if (used < 0) break;
      this.pending = used < buffer.length ? buffer.subarray(used) : null;
    }
    this.processing = false;
    this.flush();
    // Consumed bytes count even if none are left: this read may be the first of many.
    if (this.closing || this.intake.isTurnOver()) return;
    if (this.inputEnded) this.endInput();
    else if (this.tools.mustCloseIdle()) this.drain('now');
  }

  private continueReading(): void {
    if (this.closing || this.tunnelFrom >= 0) return;
    this.intake.readOn();
    this.process();
  }

  /** Parses the bytes that are there. @returns how many it consumed, or -1 when they have to wait for something. */
  private step(buffer: Buffer): number {
    if (this.requestBody.open && !this.requestBody.waits) return this.readBody(buffer);
    if (this.x === null) return this.socket.writableNeedDrain ? this.block() : this.readHead(buffer);
    if (this.requestBody.waits || buffer.length >= PIPELINE_BYTES) this.socket.pause();
    return -1;
  }

  /** No further requests are read from a client that keeps sending them without reading the responses. */
  private block(): number {
    this.blocked = true;
    this.deadline = UNSET;
    this.socket.pause();
    return -1;
  }

  private readHead(buffer: Buffer): number {
    const { heads } = this;
    const used = heads.read(buffer);
    this.intake.spend(heads.whole ? HEAD_COST : Math.max(used, 0));
    if (heads.fault !== null) return this.refuse(heads.fault);
    if (heads.whole) this.begin(heads.head, used < buffer.length);
    else if (used < 0) this.deadline = Math.min(this.deadline || NEVER, this.tools.monotonic() + HEAD_MS);
    return used;
  }

  private begin(head: RequestHead, followed: boolean): void {
    const origin = originOf(this.peer, head, this.tools.trusts);
    this.address = origin.address;
    const { requestPath, requestIds, tracing } = this.tools;
    const x = beginExchange(this, requestPath, head, this.peer, origin, requestIds, this.tools.monotonic(), tracing);
    this.tools.begun();
    this.x = x;
    // Its response may be sent within this call, and the connection then closes at once if the client has sent nothing more.
    if (!followed) this.pending = null;
    this.fresh = false;
    this.deadline = NEVER;
    this.lastRequest = head.fields.connectionClose || (head.minor === 0 && !head.fields.connectionKeepAlive);
    this.persist = !this.lastRequest;
    this.writer.begin(head.minor);
    this.requestBody.begin(x);
    requestPath.serve(x);
    this.intake.spend(x.pathCost);
  }

  private readBody(buffer: Buffer): number {
    const used = this.requestBody.feed(buffer);
    this.intake.spend(this.requestBody.framing);
    if (this.requestBody.fault !== null) return this.refuse(this.requestBody.fault);
    // Another attempt may never ask for more, and the end of the client would not be noticed.
    if (!this.requestBody.open && this.intake.heldBack) this.resumeBody();
    this.deadline = this.requestBody.open || this.x === null ? UNSET : NEVER;
    return used;
  }

  bufferBody(x: Exchange, then: (x: Exchange) => void): void {
    if (!this.requestBody.hold(x, then)) return then(x);
    this.deadline = UNSET;
    this.resumeBody();
    this.process();
  }

  streamBody(x: Exchange): void {
    if (this.x !== x) return;
    this.requestBody.stream();
    this.deadline = UNSET;
    this.resumeBody();
    this.process();
  }

  resumeBody(): void {
    this.intake.resume();
  }

  // Sending.

  detach(x: Exchange): DetachedSocket | null {
    const { pending } = this;
    if (this.inputEnded || this.x !== x) return null;
    this.pending = null;
    this.persist = false;
    this.tunnelFrom = this.socket.bytesWritten;
    return { socket: this.wire.stopReading(), early: pending };
  }

  reattach(x: Exchange): void {
    if (this.x !== x) return;
    this.tunnelFrom = -1;
    this.wire.resumeReading();
  }

  informational(status: number, reason: string, fields: string): void {
    this.writer.informational(status, reason, fields);
  }

  head(x: Exchange, status: number, reason: string, fields: string, length: number): void {
    if (this.x !== x) return;
    this.requestBody.release();
    // While an upstream still accepts the body, request and response may yet end together, so `end` decides.
    const skippable = x.attempt !== null || this.requestBody.discardable;
    const ended = this.inputEnded && this.pending === null;
    const persist = this.persist && skippable && !ended && !x.endsConnection && !this.tools.draining();
    this.persist = this.writer.head(x, status, reason, fields, length, persist);
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    const { x } = this;
    if (x === null || this.writer.body(x, buffer, from, to)) return true;
    this.blocked = true;
    this.deadline = UNSET;
    return false;
  }

  get unsent(): number {
    return this.writer.unsent;
  }

  end(x: Exchange, trailers: string): void {
    if (this.x !== x) return;
    this.writer.end(x, trailers);
    this.settle(x);
    if (!this.persist || !this.requestBody.discardable) {
      this.flush();
      return this.lastRequest && !this.requestBody.open && this.pending === null ? this.closeNow() : this.lingeringClose();
    }
    // The response took a while, and other connections have had their turn meanwhile.
    if (!this.processing) this.intake.renew();
    this.requestBody.discard();
    this.wire.resetDiscarded();
    this.deadline = UNSET;
    this.resumeBody();
    this.process();
  }

  abort(x: Exchange): void {
    if (this.x !== x) return;
    this.settle(x);
    this.closing = true;
    this.flush();
    if (this.writer.delimited) this.lingeringClose();
    else this.wire.cut();
  }

  flush(): void {
    this.writer.flush();
  }

  /** Runs once per exchange, however many callers try to end it. */
  private settle(x: Exchange): void {
    if (this.x !== x) return;
    this.x = null;
    x.attempt = null;
    this.tools.record(x);
    this.requestBody.release();
  }

  /** Refuses a head or body that cannot be trusted. Nothing that follows it on this connection can be trusted either. */
  private refuse(fault: Fault): number {
    if (fault !== FAULT.badVersion || !this.fresh || !this.switchToHttp2()) this.giveUp(fault.status, fault.reason);
    return -1;
  }

  private giveUp(status: RefusalStatus, reason: string): void {
    const { x } = this;
    this.persist = false;
    if (x !== null) detachAttempt(x)();
    if (x !== null && this.writer.headSent) this.abort(x);
    else this.answerRefused(x, status, reason);
  }

  /** On the port without TLS a client may have prior knowledge of HTTP/2 (RFC 9113 3.3). @returns whether this one seems to. */
  private switchToHttp2(): boolean {
    const { pending } = this;
    if (pending === null || this.peer.certificate !== null || !beginsHttp2(pending)) return false;
    this.deadline = Math.min(this.deadline || NEVER, this.tools.monotonic() + HEAD_MS);
    if (pending.length < PREFACE.length) return true;
    this.closing = true;
    this.pending = null;
    const socket = this.wire.handOver();
    socket.unshift(Buffer.from(pending));
    try {
      this.tools.speaksHttp2(this, socket);
    } catch (error) {
      // This connection is no longer notified of the socket's end.
      socket.destroy();
      throw error;
    }
    return true;
  }

  private answerRefused(x: Exchange | null, status: RefusalStatus, reason: string): void {
    const text = refusal(status, reason);
    this.writer.gather(x, text);
    if (x === null) this.tools.refused({ status, reason, address: this.peer.address }, text.length);
    else {
      x.status = status;
      x.failure = reason;
      this.settle(x);
    }
    this.flush();
    this.lingeringClose();
  }

  // The end.

  private closeNow(): void {
    this.closing = true;
    this.deadline = UNSET;
    this.wire.closeNow();
  }

  private lingeringClose(): void {
    this.closing = true;
    this.pending = null;
    this.deadline = UNSET;
    // A slow reader gets all of its response: the time limit starts when the last byte has been written.
    this.wire.lingeringClose(this.inputEnded, () => {
      if (this.deadline !== NEVER) this.deadline = this.tools.monotonic() + LINGER_MS;
    });
  }

  unblock(): void {
    if (!this.blocked) return;
    this.blocked = false;
    this.deadline = this.x !== null && !this.requestBody.open ? NEVER : UNSET;
    if (this.x !== null) resumeAnswer(this.x);
    if (this.x === null && this.pending !== null) this.continueReading();
  }

  /** The client has ended its side; it may still be reading. */
  endInput(): void {
    this.inputEnded = true;
    if (this.closing) return this.socket.destroySoon();
    if (this.x !== null) {
      // A truncated request is dropped; a complete request gets its response.
      if (this.requestBody.open && this.pending === null) this.socket.destroy();
    } else if (this.pending === null || this.requestBody.open) this.lingeringClose();
    else if (!this.blocked && !this.intake.waiting) this.answerRefused(null, 400, FAULT.badRequestLine.reason);
  }

  onSocketClose(): void {
    this.closing = true;
    this.deadline = NEVER;
    const { x } = this;
    if (x !== null) {
      const cancelDetached = detachAttempt(x);
      // A status that has been sent is kept; the byte count shows how much followed it.
      if (!this.writer.headSent && x.status === 0) x.status = 499;
      x.failure = 'the client went away';
      if (this.tunnelFrom >= 0) x.bytesSent = this.socket.bytesWritten - this.tunnelFrom;
      this.settle(x);
      cancelDetached();
    }
    this.tools.closed(this);
  }

  /** The connection's state can't be trusted any more: ends it and its current exchange. */
  onFault(error: unknown): void {
    const { x, socket, writer, tools, tunnelFrom } = this;
    const answered = x === null ? this.pending === null : writer.headSent || (tunnelFrom >= 0 && socket.bytesWritten > tunnelFrom);
    this.closing = true;
    this.pending = null;
    this.deadline = UNSET;
    if (x === null) tools.faults.note('connection', error, { client: this.address });
    else tools.faults.end(x, error, answered, (torn) => this.settle(torn));
    if (socket.destroyed) return tools.faults.step(() => tools.closed(this));
    tools.faults.step(() => {
      if (!answered) writer.gather(null, refusal(500, FAULT_REASON));
      this.flush();
      if (answered && (!writer.delimited || tunnelFrom >= 0)) this.wire.cut();
      else this.lingeringClose();
    });
  }

  /** All time limits are checked here, periodically. */
  sweep(now: number): void {
    const { x } = this;
    if (this.socket.hasBacklog || this.wire.isLost(now, this.inputEnded, this.tunnelFrom >= 0)) return this.socket.destroy();
    if (x !== null && this.requestBody.tooSlow(now, this.intake.heldBack)) return this.giveUp(408, TOO_SLOW);
    // A client is not idle if its body waits for a target, or while it receives a response, however long the rest of its body takes.
    if (x !== null && this.requestBody.open && !this.blocked && (this.requestBody.waits || x.bytesSent !== this.sentBefore)) {
      this.sentBefore = x.bytesSent;
      this.deadline = UNSET;
    }
    if (this.deadline === UNSET)
      this.deadline = now + limitOf(this.x !== null || this.requestBody.open || this.blocked, this.pending !== null);
    if (now < this.deadline) return;
    // RFC 9110 15.5.9: the head did not arrive in time.
    if (x === null && this.pending !== null && !this.closing && !this.blocked)
      this.answerRefused(null, 408, 'the head did not arrive in time');
    else this.socket.destroy();
  }

  /** The worker shuts down: the connection ends with its current response, an idle one now or with the response to one more request. */
  drain(idleClose: IdleClose): void {
    if (this.x !== null || this.pending !== null || this.requestBody.open || this.closing) return;
    if (idleClose === 'now') return this.lingeringClose();
    this.deadline = Math.min(this.deadline || NEVER, this.tools.monotonic() + LAST_REQUEST_MS);
  }
}
