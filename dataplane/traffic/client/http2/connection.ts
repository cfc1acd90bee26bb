import type { Socket } from 'node:net';
import { TurnoverMap } from '../../../../shared/runtime/turnover-map.ts';
import { FAULT, type Fault } from '../../codec/http1/fault.ts';
import { RequestHead } from '../../codec/http1/request-head.ts';
import { ERROR } from '../../codec/http2/frames/frame.ts';
import type { RequestBlock } from '../../codec/http2/headers/request-block.ts';
import { Http2Session } from '../../codec/http2/session.ts';
import type { SessionLimits, SessionOwner } from '../../codec/http2/session-owner.ts';
import type { Http2Stream } from '../../codec/http2/stream.ts';
import type { Exchange, RequestPath } from '../../exchange/exchange.ts';
import { type Faults, guard } from '../../exchange/faults.ts';
import { serveLater } from '../../exchange/later.ts';
import type { RequestIds } from '../../exchange/request-ids.ts';
import type { Tracing } from '../../exchange/tracing/tracing.ts';
import { streamHasBacklog } from '../../io/backlog.ts';
import { type DirectReader, DirectSocket } from '../../io/direct-socket.ts';
import { Intake } from '../../io/intake.ts';
import { ReadBuffer } from '../../io/read-buffer.ts';
import { HEAD_COST, type RunQueue } from '../../io/run-queue.ts';
import { beginExchange } from '../begin-exchange.ts';
import type { OpenConnection, RefusedHead } from '../client-tools.ts';
import { originOf, type Peer } from '../forwarded.ts';
import { refuse, refuseFaulty } from './refuse.ts';
import { ClientStream, type StreamTools } from './stream.ts';
import { UnreadShare } from './unread-share.ts';

/** A connection without streams is closed after this time (ms); sooner before the client's first SETTINGS. */
const IDLE_MS = 60_000;
const PREFACE_MS = 10_000;
/** How long a client may take to read the last bytes once its connection ends, and then to end its own side (ms). */
const LAST_BYTES_MS = 60_000;
const LINGER_MS = 2_000;

/** Concurrent requests of one client, and how much it may send before we have passed it on. */
const LIMITS: SessionLimits = {
  isServer: true,
  streams: 128,
  streamWindow: 262_144,
  maxStreamWindow: 1_048_576,
  connectionWindow: 1_048_576,
  maxConnectionWindow: 4_194_304,
  // Its windows limit it.
  maxUnread: Number.POSITIVE_INFINITY,
  // Above our own limits (`http1/request-head.ts`), so that a request that exceeds them gets a response.
  fieldList: 65_536,
};
/**
 * A client that cancels this many requests, each within this time (ms), and more than half of all its requests, is hostile
 * (CVE-2023-44487).
 */
const MAX_RAPID_RESETS = 200;
const RAPID_RESET_MS = 1_000;

/** The status under which a request is counted if the client leaves before its response begins. */
const CLIENT_GONE = 499;

/** What a connection needs from its worker. */
export type Http2Tools = {
  readonly runQueue: RunQueue;
  monotonic(): number;
  readonly faults: Faults;
  trusts(address: string): boolean;
  readonly requestIds: RequestIds;
  readonly tracing: Tracing | null;
  readonly requestPath: RequestPath;
  begun(): void;
  record(x: Exchange): void;
  refused(head: RefusedHead, bytes: number): void;
  closed(connection: OpenConnection): void;
};

/** A connection to an HTTP/2 client (RFC 9113); each of its streams is an exchange like any other. */
export class Http2Connection implements OpenConnection, SessionOwner, DirectReader {
  private readonly socket: Socket;
  private readonly direct: DirectSocket;
  private readonly intake: Intake;
  private readonly buffers = new ReadBuffer();
  private readonly session: Http2Session;
  private readonly peer: Peer;
  private readonly tools: Http2Tools;
  private readonly streamTools: StreamTools;
  private readonly streams = new TurnoverMap<ClientStream, true>();
  private readonly head = new RequestHead();
  private readonly share: UnreadShare;
  /** Bytes of DATA that had been sent at the last sweep. */
  private sentBefore = 0;
  /** Requests that have been read and not served yet. */
  private arrived: ClientStream[] = [];
  /** Requests so far, and how many of them were cancelled right after they arrived. */
  private requests = 0;
  private rapidResets = 0;
  private idleSince: number;
  /** When the connection began to end; null before that. */
  private endingSince: number | null = null;
  private isClosed = false;

  constructor(socket: Socket, peer: Peer, tools: Http2Tools) {
    this.socket = socket;
    this.peer = peer;
    this.tools = tools;
    this.idleSince = tools.monotonic();
    this.share = new UnreadShare(this.idleSince);
    this.streamTools = {
      facts: (bodyRead) => ({ connection: peer, protocol: 'HTTP/2.0', bodyRead }),
      monotonic: tools.monotonic,
      faults: tools.faults,
      held: { held: 0 },
      record: (x) => {
        tools.record(x);
        if (x.status === CLIENT_GONE && tools.monotonic() - x.startedAt < RAPID_RESET_MS) this.noteRapidReset();
      },
      closed: (gone) => {
        this.streams.delete(gone);
        if (this.streams.size > 0) return;
        this.idleSince = tools.monotonic();
        if (this.isClosed) tools.closed(this);
      },
      closeAfter: (x) => this.closeAfter(x),
      unsent: () => this.session.sender.output.length + socket.writableLength,
    };
    this.direct = new DirectSocket(socket, this);
    this.intake = new Intake(this.direct, tools.runQueue, () => guard(this, this.continueReading));
    this.session = new Http2Session(this, LIMITS);
    socket.on('drain', () => guard(this, this.drained));
    // HTTP/2 has no half-closed connections: a client that ends its side does not read either.
    socket.on('end', () => guard(this, this.endInput));
    // The close event that follows is handled.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => guard(this, this.closed));
    this.direct.read();
  }

  monotonic(): number {
    return this.tools.monotonic();
  }

  // Reading.

  nextBuffer(): Buffer {
    return this.buffers.next(this.session.readsBodies, this.session.lendsBytes);
  }

  receive(bytes: Buffer): void {
    const { session, intake } = this;
    intake.renew();
    session.receive(bytes, ReadBuffer.mustCopy(bytes));
    intake.spend(session.decoder.takeCost());
    intake.isTurnOver();
  }

  request(stream: Http2Stream, block: RequestBlock, tooLarge: boolean): void {
    this.requests++;
    const refusal = tooLarge ? FAULT.longHead : (block.finish(stream.inputEnded, this.tools.requestIds.next) ?? this.read(stream, block));
    if (refusal !== null) return this.refuse(stream, refusal, isMalformed(refusal), block.method === 'HEAD');
    try {
      this.begin(stream);
    } catch (error) {
      // It never became an exchange.
      const { faults } = this.tools;
      faults.note('exchange', error);
      refuseFaulty(stream, faults, block.method === 'HEAD');
    }
  }

  private read(stream: Http2Stream, { lines, from, to }: RequestBlock): Fault | null {
    const { head } = this;
    const fault = head.parse(lines.bytes, from, to);
    if (fault !== null) return fault;
    if (head.hostField === '') return FAULT.badHost;
    const { contentLength } = head.fields;
    // RFC 9113 8.1.1: the length contradicts the end of the stream.
    if (stream.inputEnded && contentLength > 0) return FAULT.badLength;
    stream.expected = contentLength;
    return null;
  }

  private begin(stream: Http2Stream): void {
    const { tools, peer, head } = this;
    const origin = originOf(peer, head, tools.trusts);
    const client = new ClientStream(stream, origin.address, this.streamTools);
    this.streams.set(client, true);
    client.begin(beginExchange(client, tools.requestPath, head, peer, origin, tools.requestIds, tools.monotonic(), tools.tracing));
    tools.begun();
    this.arrived.push(client);
  }

  readComplete(): void {
    if (!this.intake.waiting && this.arrived.length > 0) this.serveArrived();
  }

  holdBack(): void {
    // Nothing limits what is unread but its windows.
  }

  private continueReading(): void {
    this.serveArrived();
    this.intake.readOn();
  }

  /** In as many turns as it takes: a few bytes may stand for long heads (RFC 7541), whose paths and fields are expensive to check. */
  private serveArrived(): void {
    const { arrived, intake } = this;
    let served = 0;
    for (; served < arrived.length && !intake.isTurnOver(); served++) {
      const exchange = arrived[served]?.exchange ?? null;
      if (exchange === null) continue;
      serveLater(exchange);
      intake.spend(HEAD_COST + exchange.target.length + exchange.fields.length + exchange.pathCost);
    }
    this.arrived = served === arrived.length ? [] : arrived.slice(served);
  }

  response(): void {
    throw new Error('a client sends no responses');
  }

  private refuse(stream: Http2Stream, { status, reason }: Pick<Fault, 'status' | 'reason'>, isMalformed: boolean, bodyless: boolean): void {
    if (isMalformed) this.session.streamError(stream.id, ERROR.protocol);
    this.intake.spend(HEAD_COST);
    const bytes = isMalformed ? 0 : refuse(stream, status, reason, bodyless);
    this.tools.refused({ status, reason, address: this.peer.address }, bytes);
  }

  private noteRapidReset(): void {
    this.rapidResets++;
    if (this.rapidResets >= MAX_RAPID_RESETS && this.rapidResets * 2 > this.requests)
      this.session.fail(ERROR.enhanceYourCalm, 'most requests are cancelled immediately');
  }

  settingsChanged(): void {
    // The session applies those that matter.
  }

  goingAway(): void {
    this.session.close();
  }

  // Writing.

  write(parts: readonly Buffer[]): boolean {
    return this.direct.writeParts(parts);
  }

  private drained(): void {
    this.session.drained();
  }

  // The end.

  failed(): void {
    this.finished();
  }

  finished(): void {
    this.share.count(0);
    this.endingSince = this.tools.monotonic();
    // What the client still sends is read and dropped: closing with unread bytes would reset the connection and lose GOAWAY.
    this.socket.end();
  }

  private endInput(): void {
    if (this.session.ended) return this.socket.destroySoon();
    this.session.lost(ERROR.cancel);
    this.socket.destroy();
  }

  private closed(): void {
    this.share.count(0);
    if (!this.session.ended) this.session.lost(ERROR.cancel);
    this.isClosed = true;
    // It stays until the targets of its tunnels have received what it has sent, for which they have limited time.
    if (this.streams.size === 0) this.tools.closed(this);
  }

  /** Its state can't be trusted any more: ends it and its streams. */
  onFault(error: unknown): void {
    const { faults } = this.tools;
    faults.note('connection', error, { client: this.peer.address });
    faults.step(() => this.session.lost(ERROR.internal));
    faults.step(() => this.socket.destroy());
    faults.step(() => this.tools.closed(this));
  }

  /** Closes the connection only if it was opened for that very host: for another host the client opens a second connection. */
  private closeAfter(x: Exchange): void {
    if (this.peer.tls?.serverName.toLowerCase() === x.host) this.session.close();
  }

  sweep(now: number): void {
    if (streamHasBacklog(this.socket)) this.socket.destroy();
    for (const stream of this.streams.keys()) guard(stream, stream.sweep, now);
    if (this.session.ended) return this.sweepEnd(now);
    this.session.sweep(now);
    this.sweepUnread(now);
    if (this.streams.size > 0) return;
    if (!this.session.greeted && now - this.idleSince >= PREFACE_MS) this.socket.destroy();
    else if (now - this.idleSince >= IDLE_MS) this.endIdle();
  }

  private sweepUnread(now: number): void {
    const { sent } = this.session.sender;
    const streams = [...this.streams.keys()];
    // The oldest response stays, as a download of which more waits than is always allowed, and so does the oldest request that is held.
    const kept = new Set([streams.find((stream) => stream.unreadResponse > 0), streams.find((stream) => stream.heldBytes > 0)]);
    let [unread, keeps] = [0, 0];
    for (const stream of streams) {
      unread += stream.unread;
      if (kept.has(stream)) keeps += stream.unread;
    }
    let excess = this.share.sweep(now, unread, sent - this.sentBefore, keeps);
    this.sentBefore = sent;
    if (excess <= 0) return;
    // The newest ones: clients read the others first.
    for (const stream of streams.reverse()) {
      if (excess <= 0) return;
      if (kept.has(stream) || stream.unread === 0) continue;
      excess -= stream.unread;
      guard(stream, stream.giveWay);
    }
  }

  private endIdle(): void {
    // Streams without an exchange were refused, and their responses have not been read.
    for (const stream of [...this.session.streams.values()]) stream.reset(ERROR.cancel);
    this.session.close();
  }

  /** The client has to read the last bytes, and then to end its side. */
  private sweepEnd(now: number): void {
    const limit = this.socket.writableFinished ? LINGER_MS : LAST_BYTES_MS;
    if (this.endingSince !== null && now - this.endingSince >= limit) this.socket.destroy();
  }

  /** The worker shuts down: sends GOAWAY, so that the client opens no more streams, and finishes the open ones. */
  drain(): void {
    this.session.close();
  }
}

/** Whether HTTP/2 itself does not allow a request (RFC 9113 8.1.1). What HTTP/2 allows and we don't gets a response. */
const isMalformed = (refusal: Pick<Fault, 'status'> & { readonly malformed?: boolean }): boolean =>
  refusal.malformed ?? (refusal.status === 400 && refusal !== FAULT.blankEdge);
