import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { openSession } from '../../../../shared/runtime/http2-session.ts';
import { RESPONSE_HEADER_BYTES } from '../../../../shared/transport.ts';
import { FAULT, type Fault } from '../../codec/http1/fault.ts';
import { RequestHead } from '../../codec/http1/request-head.ts';
import { requestText } from '../../codec/http2/request-text.ts';
import type { Exchange, RequestPath } from '../../exchange/exchange.ts';
import { FAULT_REASON, type Faults, guard, guarded } from '../../exchange/faults.ts';
import { serveLater } from '../../exchange/later.ts';
import type { Tracing } from '../../exchange/tracing.ts';
import { beginExchange } from '../begin-exchange.ts';
import type { OpenConnection, RefusedHead } from '../client-tools.ts';
import { originOf, type Peer, trustedRequestId } from '../forwarded.ts';
import { refuse } from './refuse.ts';
import { ClientStream } from './stream.ts';

/** A connection without streams is closed after this time (ms); sooner before the client's first SETTINGS. */
const IDLE_MS = 60_000;
const PREFACE_MS = 10_000;
/** How long a client may take to read the last bytes once its connection ends, and then to end its own side (ms). */
const LAST_BYTES_MS = 60_000;
const LINGER_MS = 2_000;

/** Concurrent requests of one client, and how much each of them may buffer (bytes). */
const SETTINGS = {
  maxConcurrentStreams: 128,
  // Above our own limits (`http1/request-head.ts`), so that what they refuse gets a response: the library would reset the stream without
  // one.
  maxHeaderListSize: 65_536,
  initialWindowSize: 262_144,
  enablePush: false,
  // RFC 8441 3.
  enableConnectProtocol: true,
};
/** The receive window for all streams of a connection (bytes). */
const CONNECTION_WINDOW = 1_048_576;
/** A client that cancels this many requests, each within this time (ms), and most of its requests, is hostile (CVE-2023-44487). */
const MAX_HASTY = 200;
const HASTY_MS = 1_000;
/** What a client may do before it is considered hostile; the library limits resets of any kind (1,000, then 33 a second). */
const BOUNDS = {
  // As many as the size allows: browsers send each cookie as a field of its own (RFC 9113 8.2.3).
  maxHeaderListPairs: 2_000,
  maxSessionInvalidFrames: 20,
  maxSessionRejectedStreams: 20,
  maxOutstandingPings: 10,
  maxSettings: 32,
  // A head of any size that the upstream may send is forwarded; a client that finds it too large can say so.
  maxSendHeaderBlockLength: 2 * RESPONSE_HEADER_BYTES.most,
};

/** The status under which a request is counted if the client leaves before its response begins. */
const CLIENT_GONE = 499;

const nothing = (): void => undefined;

/** What a connection needs from its worker. */
export type Http2Tools = {
  monotonic(): number;
  readonly faults: Faults;
  trusts(address: string): boolean;
  nextRequestId(): string;
  readonly tracing: Tracing | null;
  readonly requestPath: RequestPath;
  begun(): void;
  record(x: Exchange): void;
  refused(head: RefusedHead, bytes: number): void;
  closed(connection: OpenConnection): void;
};

/** A connection to an HTTP/2 client (RFC 9113); each of its streams is an exchange like any other. */
export class Http2Connection implements OpenConnection {
  private readonly socket: Socket;
  private readonly session: ServerHttp2Session;
  private readonly peer: Peer;
  private readonly tools: Http2Tools;
  private readonly streams = new Set<ClientStream>();
  private readonly head = new RequestHead();
  private greeted = false;
  /** Requests so far, and those of them that were cancelled right after they came. */
  private requests = 0;
  private hasty = 0;
  private idleSince: number;
  /** Since when only its end is awaited; null before that. */
  private endingSince: number | null = null;

  constructor(socket: Socket, peer: Peer, tools: Http2Tools) {
    this.socket = socket;
    this.peer = peer;
    this.tools = tools;
    this.idleSince = tools.monotonic();
    // It is not for the proxy to judge whether an upstream may repeat a field.
    this.session = openSession(socket, () =>
      performServerHandshake(socket, { settings: SETTINGS, strictSingleValueFields: false, ...BOUNDS }),
    );
    // HTTP/2 has no half-closed connections: a client that ends its side does not read either.
    socket.once('end', () => this.session.destroy());
    this.session.once(
      'connect',
      guarded(this, (session) => session.setLocalWindowSize(CONNECTION_WINDOW)),
    );
    this.session.on(
      'stream',
      guarded(this, (stream, _headers, flags, raw) => this.acceptGuarded(stream, flags, raw ?? [])),
    );
    this.session.once('remoteSettings', () => {
      this.greeted = true;
    });
    // The close event that follows is handled.
    this.session.on('error', () => this.session.destroy());
    this.session.on('close', () => guard(this, this.closed));
  }

  private acceptGuarded(stream: ServerHttp2Stream, flags: number, raw: readonly string[]): void {
    try {
      this.accept(stream, flags, raw);
    } catch (error) {
      // It never became an exchange.
      const { faults } = this.tools;
      faults.note('exchange', error);
      faults.step(() => refuse(stream, 500, FAULT_REASON));
    }
  }

  private accept(stream: ServerHttp2Stream, flags: number, raw: readonly string[]): void {
    // The stream's close reports errors too, but an error without a listener would end the worker.
    stream.on('error', nothing);
    this.requests++;
    // Cancelled in the same read.
    if (stream.closed || stream.destroyed) {
      this.tools.refused({ status: CLIENT_GONE, reason: 'called off', address: this.peer.address }, 0);
      return this.calledOff();
    }
    const { tools, peer, head } = this;
    const written = requestText(raw, (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0, tools.nextRequestId);
    if ('reason' in written) return this.refuse(stream, written);
    const bytes = Buffer.from(written.text, 'latin1');
    const fault = head.parse(bytes, 0, bytes.length);
    if (fault !== null) return this.refuse(stream, fault);
    if (head.hostField === '') return this.refuse(stream, FAULT.badHost);
    const origin = originOf(peer, head, tools.trusts);
    const client = new ClientStream(stream, origin.address, {
      facts: (bodyRead) => ({ connection: peer, protocol: 'HTTP/2.0', bodyRead }),
      monotonic: tools.monotonic,
      faults: tools.faults,
      record: (x) => {
        tools.record(x);
        if (x.status === CLIENT_GONE && tools.monotonic() - x.startedAt < HASTY_MS) this.calledOff();
      },
      closed: (gone) => {
        this.streams.delete(gone);
        this.idleSince = tools.monotonic();
      },
      outlived: (x) => this.outlived(x),
    });
    this.streams.add(client);
    const x = beginExchange(
      client,
      tools.requestPath,
      head,
      peer,
      origin,
      trustedRequestId(peer, head) ?? tools.nextRequestId(),
      tools.monotonic(),
      tools.tracing,
    );
    client.begin(x);
    tools.begun();
    // Runs after everything that was read with it, so that a request cancelled in the same read is not forwarded.
    setImmediate(serveLater, x);
  }

  private calledOff(): void {
    this.hasty++;
    const { session } = this;
    if (this.hasty >= MAX_HASTY && this.hasty * 2 > this.requests && !session.destroyed)
      session.destroy(new Error('most requests are cancelled at once'), constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }

  private closed(): void {
    this.tools.closed(this);
  }

  /** Its state can't be trusted any more: ends it, and the library notifies its streams. */
  onFault(error: unknown): void {
    const { faults } = this.tools;
    faults.note('connection', error, { client: this.peer.address });
    faults.step(() => this.session.destroy());
    faults.step(() => this.socket.destroy());
    if (this.session.destroyed) faults.step(() => this.closed());
  }

  /** Only if the connection was opened for that very host: for another host the client opens a second connection. */
  private outlived(x: Exchange): void {
    const { socket } = this;
    if (socket instanceof TLSSocket && socket.servername !== false && socket.servername?.toLowerCase() === x.host) this.session.close();
  }

  private refuse(stream: ServerHttp2Stream, { status, reason }: Pick<Fault, 'status' | 'reason'>): void {
    const bytes = refuse(stream, status, reason);
    this.tools.refused({ status, reason, address: this.peer.address }, bytes);
  }

  sweep(now: number): void {
    for (const stream of this.streams) guard(stream, stream.sweep, now);
    if (this.streams.size > 0) return;
    if (this.session.closed || this.session.destroyed) this.sweepEnd(now);
    else if (!this.greeted && now - this.idleSince >= PREFACE_MS) this.session.destroy();
    else if (now - this.idleSince >= IDLE_MS) this.session.close();
  }

  /** The session waits for its last bytes to be sent and then for the client to end its side, without a time limit of its own. */
  private sweepEnd(now: number): void {
    const isFlushed = !this.session.closed || this.socket.writableFinished;
    if (this.endingSince === null) this.endingSince = now;
    else if (now - this.endingSince >= (isFlushed ? LINGER_MS : LAST_BYTES_MS)) this.socket.destroy();
  }

  /** The worker shuts down: tells the client to open no more streams (GOAWAY) and finishes those that it has. */
  drain(_patient: boolean): void {
    this.session.close();
  }
}
