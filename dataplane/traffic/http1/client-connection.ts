// Over 400 lines would be two things; this is one: the state of a client's connection, which every method moves.
import type { Socket } from 'node:net';
import { CHUNKED, type Downstream, Exchange, UNTIL_CLOSE } from '../exchange.ts';
import { askedBy, type Peer, trustedHost, trustedRequestId } from '../policy/forwarded/forwarded.ts';
import { ChunkedDecoder } from './chunked.ts';
import { httpDate } from './date.ts';
import { FAULT, type Fault } from './fault.ts';
import { faultOfPartialHead, HEAD_END, MAX_REQUEST_HEAD, RequestHead } from './request-head.ts';

/** Milliseconds: for a whole head, between requests, and between two pieces of a body either way. */
const HEAD_MS = 10_000;
const IDLE_MS = 60_000;
const BODY_IDLE_MS = 60_000;
/** How long and how much a client may still send after an answer that did not wait for its body. */
const LINGER_MS = 2_000;
const LINGER_BYTES = 262_144;
/** Bodies of known length up to this are taken whole before an upstream is asked. */
const HOLD_BYTES = 65_536;
/** Requests that a client sends ahead of answers wait here, up to this many bytes. */
const PIPELINE_BYTES = 65_536;
/** Pieces of an answer up to this size are joined with what is already gathered. */
const JOIN_BYTES = 4_096;
const NEVER = Number.POSITIVE_INFINITY;
const UNSET = 0;

const BODY = { none: 0, wait: 1, hold: 2, stream: 3, discard: 4 } as const;
const CR = 13;
const LF = 10;

/** What a connection needs of its worker. */
export type ClientTools = {
  monotonic(): number;
  trusts(address: string): boolean;
  nextRequestId(): string;
  /** Whether the worker is going away: answers carry `Connection: close`. */
  draining(): boolean;
  serve(x: Exchange): void;
  begun(): void;
  /** The exchange is over, well or not. */
  record(x: Exchange): void;
  /** A head was refused before there was an exchange. */
  refused(status: number, bytes: number): void;
  closed(connection: ClientConnection): void;
};

/** A client that speaks HTTP/1.x: its bytes in, exchanges out, answers back in order. */
export class ClientConnection implements Downstream {
  address: string;
  readonly secure: boolean;
  private readonly socket: Socket;
  private readonly peer: Peer;
  private readonly tools: ClientTools;
  private readonly requestHead = new RequestHead();
  private x: Exchange | null = null;
  /** Bytes that have been read from the socket and not yet looked at. */
  private pending: Buffer | null = null;
  private processing = false;

  private bodyMode: number = BODY.none;
  private remaining = 0;
  private decoder: ChunkedDecoder | null = null;
  private held: Buffer[] = [];
  private whenHeld: ((x: Exchange) => void) | null = null;
  private discarded = 0;

  /** Bytes gathered for the next write, as Latin-1. */
  private out = '';
  private persist = true;
  private chunkedOut = false;
  private closing = false;
  private inputEnded = false;
  private deadline = UNSET;
  private drainWaited = false;

  constructor(socket: Socket, peer: Peer, tools: ClientTools) {
    this.socket = socket;
    this.peer = peer;
    this.address = peer.address;
    this.secure = peer.secure;
    this.tools = tools;
    socket.on('data', (chunk: Buffer) => this.read(chunk));
    socket.on('drain', () => this.drained());
    socket.on('end', () => this.ended());
    // The close that follows tells what there is to know: the client is gone.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.gone());
  }

  // The way in.

  private read(chunk: Buffer): void {
    if (this.closing) return this.linger(chunk.length);
    this.pending = this.pending === null ? chunk : Buffer.concat([this.pending, chunk]);
    this.process();
  }

  private process(): void {
    if (this.processing) return;
    this.processing = true;
    while (this.pending !== null && !this.closing) {
      const buffer = this.pending;
      const at = this.step(buffer);
      if (at < 0) break;
      this.pending = at < buffer.length ? buffer.subarray(at) : null;
    }
    this.processing = false;
    this.flush();
  }

  /** Looks at the bytes that are there. @returns how many it used up, or -1 when they have to wait for something. */
  private step(buffer: Buffer): number {
    if (this.bodyMode === BODY.wait) return this.holdBack(buffer);
    if (this.bodyMode !== BODY.none) return this.readBody(buffer);
    if (this.x !== null) return this.holdBack(buffer);
    return this.readHead(buffer);
  }

  private holdBack(buffer: Buffer): number {
    if (buffer.length >= PIPELINE_BYTES || this.bodyMode === BODY.wait) this.socket.pause();
    return -1;
  }

  private readHead(buffer: Buffer): number {
    let start = 0;
    // RFC 9112 2.2: empty lines before a request line are a leftover of old clients.
    while (buffer[start] === CR && buffer[start + 1] === LF) start += 2;
    if (start === buffer.length) return start;
    const end = buffer.indexOf(HEAD_END, start);
    if (end < 0 || end + 4 - start > MAX_REQUEST_HEAD) return this.readPartialHead(buffer, start, end);
    const head = this.requestHead;
    const fault = head.parse(buffer, start, end + 4);
    if (fault !== null) return this.refuse(fault);
    this.begin(head);
    return end + 4;
  }

  private readPartialHead(buffer: Buffer, start: number, end: number): number {
    const stop = end < 0 ? buffer.length : start + MAX_REQUEST_HEAD;
    const fault = faultOfPartialHead(buffer, start, stop, this.requestHead);
    if (fault !== null) return this.refuse(fault);
    if (end >= 0 || buffer.length - start > MAX_REQUEST_HEAD) return this.refuse(FAULT.longHead);
    if (this.deadline === UNSET || this.deadline > this.tools.monotonic() + HEAD_MS) this.deadline = this.tools.monotonic() + HEAD_MS;
    return -1;
  }

  private begin(head: RequestHead): void {
    const { fields } = head;
    const asked = askedBy(this.peer, head, this.tools.trusts);
    const id = trustedRequestId(this.peer, head) ?? this.tools.nextRequestId();
    this.address = asked.address;
    const x = new Exchange(this, {
      method: head.method,
      target: head.target,
      host: head.host,
      hostField: head.hostField,
      fields: fields.kept,
      bodyLength: fields.chunked ? CHUNKED : Math.max(0, fields.contentLength),
      expectsContinue: fields.expectsContinue && head.minor === 1,
      referer: fields.referer,
      forwarding: `${asked.lines}X-Forwarded-Host: ${trustedHost(this.peer, head)}\r\nX-Request-ID: ${id}\r\n`,
      startedAt: this.tools.monotonic(),
    });
    this.x = x;
    this.deadline = NEVER;
    this.minor = head.minor;
    this.persist = head.minor === 1 ? !fields.connectionClose : fields.connectionKeepAlive && !fields.connectionClose;
    this.headSent = false;
    if (x.bodyLength === 0) {
      x.bodyComplete = true;
      this.bodyMode = BODY.none;
    } else {
      this.bodyMode = BODY.wait;
      this.remaining = x.bodyLength;
      if (x.bodyLength === CHUNKED) {
        this.decoder ??= new ChunkedDecoder();
        this.decoder.reset();
      }
    }
    this.tools.begun();
    this.tools.serve(x);
  }

  private minor = 1;
  private headSent = false;

  private readBody(buffer: Buffer): number {
    this.deadline = UNSET;
    const x = this.x;
    if (this.remaining !== CHUNKED) {
      const to = Math.min(buffer.length, this.remaining);
      this.remaining -= to;
      this.bodyPiece(buffer, 0, to);
      if (this.remaining === 0) this.bodyDone(x, '');
      return to;
    }
    const decoder = this.decoder as ChunkedDecoder;
    const to = decoder.feed(buffer, 0, buffer.length, this);
    if (decoder.fault !== null) return this.refuse(decoder.fault);
    if (decoder.done) this.bodyDone(x, decoder.trailers);
    return to;
  }

  /** A decoded piece of the request's body. */
  bodyPiece(buffer: Buffer, from: number, to: number): void {
    switch (this.bodyMode) {
      case BODY.hold:
        this.held.push(buffer.subarray(from, to));
        return;
      case BODY.stream:
        if (this.x?.attempt?.body(buffer, from, to) === false) this.socket.pause();
        return;
      default:
        this.discarded += to - from;
        if (this.discarded > LINGER_BYTES) this.socket.destroy();
    }
  }

  private bodyDone(x: Exchange | null, trailers: string): void {
    const mode = this.bodyMode;
    this.bodyMode = BODY.none;
    this.deadline = x === null ? UNSET : NEVER;
    if (x === null) return;
    x.bodyComplete = true;
    if (mode === BODY.hold) {
      x.held = this.held.length === 1 ? (this.held[0] as Buffer) : Buffer.concat(this.held);
      this.held = [];
      const then = this.whenHeld;
      this.whenHeld = null;
      then?.(x);
    } else if (mode === BODY.stream) x.attempt?.bodyEnd(trailers);
  }

  takeBody(x: Exchange, then: (x: Exchange) => void): void {
    if (this.bodyMode !== BODY.wait || x.bodyLength === CHUNKED || x.bodyLength > HOLD_BYTES || x.expectsContinue) return then(x);
    this.bodyMode = BODY.hold;
    this.whenHeld = then;
    this.deadline = UNSET;
  }

  streamBody(x: Exchange): void {
    if (this.x !== x || this.bodyMode === BODY.none) return;
    this.bodyMode = BODY.stream;
    this.deadline = UNSET;
    this.resumeBody();
    this.process();
  }

  resumeBody(): void {
    this.socket.resume();
  }

  // The way out.

  informational(status: number, reason: string, fields: string): void {
    if (this.minor === 1 && !this.headSent) this.out += `HTTP/1.1 ${status} ${reason}\r\n${fields}\r\n`;
  }

  head(x: Exchange, status: number, reason: string, fields: string, length: number): void {
    x.status = status;
    this.headSent = true;
    const bodyless = x.method === 'HEAD' || status === 204 || status === 304;
    let framing = '';
    this.chunkedOut = false;
    if (length !== UNTIL_CLOSE) framing = status === 204 ? '' : `Content-Length: ${length}\r\n`;
    else if (bodyless) framing = '';
    else if (this.minor === 1) {
      this.chunkedOut = true;
      framing = 'Transfer-Encoding: chunked\r\n';
    } else this.persist = false;
    if (this.tools.draining() || this.inputEnded || !(x.bodyComplete || this.discardable(x))) this.persist = false;
    const connection = this.persist ? (this.minor === 1 ? '' : 'Connection: keep-alive\r\n') : 'Connection: close\r\n';
    const head = `HTTP/1.1 ${status} ${reason}\r\n${fields}${framing}${connection}\r\n`;
    x.bytesSent += head.length;
    this.out += head;
  }

  /** Whether what is left of the body is little enough to be read and dropped. A client that waits for a 100 may never send it. */
  private discardable(x: Exchange): boolean {
    return x.attempt === null && !x.expectsContinue && this.remaining !== CHUNKED && this.remaining <= HOLD_BYTES;
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    const x = this.x;
    if (x === null || from === to) return true;
    const length = to - from;
    x.bytesSent += length;
    if (this.chunkedOut) {
      const size = `${length.toString(16)}\r\n`;
      x.bytesSent += size.length + 2;
      this.out += size;
    }
    if (length <= JOIN_BYTES) {
      this.out += buffer.toString('latin1', from, to);
      if (this.chunkedOut) this.out += '\r\n';
    } else {
      this.socket.cork();
      this.flush();
      this.socket.write(buffer.subarray(from, to));
      if (this.chunkedOut) this.out = '\r\n';
      this.socket.uncork();
    }
    if (!this.socket.writableNeedDrain) return true;
    this.drainWaited = true;
    this.deadline = UNSET;
    return false;
  }

  end(x: Exchange, trailers: string): void {
    if (this.chunkedOut) {
      const last = `0\r\n${trailers}\r\n`;
      x.bytesSent += last.length;
      this.out += last;
    }
    this.settle(x);
    if (this.persist && (this.bodyMode === BODY.none || this.remaining !== CHUNKED)) {
      if (this.bodyMode !== BODY.none) this.bodyMode = BODY.discard;
      this.discarded = 0;
      this.deadline = UNSET;
      if (this.socket.isPaused()) this.socket.resume();
      return this.process();
    }
    this.flush();
    this.closeGently();
  }

  abort(x: Exchange): void {
    this.settle(x);
    this.closing = true;
    this.flush();
    // A body that ends with its connection would look whole after an orderly close.
    if (this.headSent && !this.chunkedOut && this.minor === 0) this.socket.resetAndDestroy();
    else this.socket.destroySoon();
  }

  flush(): void {
    if (this.out === '') return;
    const out = this.out;
    this.out = '';
    this.socket.write(out, 'latin1');
  }

  private settle(x: Exchange): void {
    this.x = null;
    x.attempt = null;
    this.tools.record(x);
  }

  /** A head or body that cannot be trusted: whatever follows it on this connection can't be either. */
  private refuse(fault: Fault): number {
    const x = this.x;
    this.persist = false;
    if (x !== null) {
      x.attempt?.cancel();
      x.attempt = null;
      if (this.headSent) this.abort(x);
      else {
        const head = this.refusal(fault);
        x.status = fault.status;
        x.bytesSent += head.length;
        x.failure = fault.reason;
        this.out += head;
        this.settle(x);
        this.flush();
        this.closeGently();
      }
      return -1;
    }
    const head = this.refusal(fault);
    this.out += head;
    this.tools.refused(fault.status, head.length);
    this.flush();
    this.closeGently();
    return -1;
  }

  private refusal(fault: Fault): string {
    const body = `${fault.status} ${fault.reason}\n`;
    return `HTTP/1.1 ${fault.status} ${REASONS[fault.status]}\r\n${httpDate()}Content-Type: text/plain; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
  }

  // The end.

  /** Ends our side and reads on for a moment: closing over unread bytes would reset the answer out of the client's hands. */
  private closeGently(): void {
    this.closing = true;
    this.pending = null;
    this.discarded = 0;
    this.deadline = this.tools.monotonic() + LINGER_MS;
    this.socket.end();
    if (this.inputEnded) this.socket.destroySoon();
    else this.socket.resume();
  }

  private linger(bytes: number): void {
    this.discarded += bytes;
    if (this.discarded > LINGER_BYTES) this.socket.destroy();
  }

  private drained(): void {
    if (!this.drainWaited) return;
    this.drainWaited = false;
    if (this.x !== null) this.deadline = this.bodyMode === BODY.none ? NEVER : UNSET;
    this.x?.attempt?.resume();
  }

  /** The client has said all it will; it may still be listening. */
  private ended(): void {
    this.inputEnded = true;
    if (this.closing) return this.socket.destroySoon();
    if (this.x === null) {
      if (this.pending === null || this.bodyMode !== BODY.none) this.closeGently();
      else this.refuse(FAULT.badRequestLine);
      return;
    }
    // A body that can't become whole any more.
    if (this.bodyMode !== BODY.none && this.pending === null) this.socket.destroy();
  }

  private gone(): void {
    this.closing = true;
    this.deadline = NEVER;
    const x = this.x;
    if (x !== null) {
      const attempt = x.attempt;
      if (x.status === 0) {
        x.status = 499;
        x.failure = 'the client went away';
      }
      this.settle(x);
      attempt?.cancel();
    }
    this.tools.closed(this);
  }

  /** Time limits are looked at together, now and then; `UNSET` takes its limit from where the connection stands. */
  sweep(now: number): void {
    if (this.deadline === UNSET) {
      this.deadline = now + (this.x === null && this.bodyMode === BODY.none ? (this.pending === null ? IDLE_MS : HEAD_MS) : BODY_IDLE_MS);
      return;
    }
    if (now < this.deadline) return;
    if (this.x === null && this.pending !== null && !this.closing) this.refuseLate();
    else this.socket.destroy();
  }

  /** RFC 9110 15.5.9: the head did not come in time. */
  private refuseLate(): void {
    const head = `HTTP/1.1 408 Request Timeout\r\n${httpDate()}Content-Length: 0\r\nConnection: close\r\n\r\n`;
    this.out += head;
    this.tools.refused(408, head.length);
    this.flush();
    this.closeGently();
  }

  /** The worker goes away: a connection between two requests ends now, another one with its answer. */
  drain(): void {
    if (this.x === null && this.bodyMode === BODY.none && !this.closing) this.closeGently();
  }
}

const REASONS: Readonly<Record<Fault['status'], string>> = {
  400: 'Bad Request',
  413: 'Content Too Large',
  414: 'URI Too Long',
  431: 'Request Header Fields Too Large',
  501: 'Not Implemented',
  505: 'HTTP Version Not Supported',
};
