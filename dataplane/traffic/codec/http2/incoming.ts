import { ERROR, FLAG, MAX_WINDOW, readWord, TYPE } from './frames/frame.ts';
import type { FrameSink } from './frames/frame-reader.ts';
import { HeaderBlock } from './headers/header-block.ts';
import { RequestBlock } from './headers/request-block.ts';
import { ResponseBlock } from './headers/response-block.ts';
import { TrailerBlock } from './headers/trailer-block.ts';
import type { FieldSink } from './hpack/decoder.ts';
import { IncomingData } from './incoming-data.ts';
import { type IncomingOwner, type IncomingSession, spend } from './incoming-session.ts';
import { COST } from './limits/flood-budget.ts';
import { PendingPriorities } from './priority/pending-priorities.ts';
import { readPriority } from './priority/priority.ts';
import type { Http2Stream } from './stream.ts';

/** Settings in one frame. */
const MAX_SETTINGS = 32;
const SETTING_BYTES = 6;
const PING_BYTES = 8;
const PRIORITY_BYTES = 5;
/** A body of at most this many bytes needs no wide window. */
const SMALL_BODY = 16_384;

/** Acts on the frames that a peer sends (RFC 9113 6). */
export class Incoming implements FrameSink {
  /** Each is used for one block at a time, by all connections of the thread. */
  private static readonly request = new RequestBlock();
  private static readonly response = new ResponseBlock();
  private static readonly trailers = new TrailerBlock();
  /** Whether the peer has begun with its SETTINGS (RFC 9113 3.4). */
  greeted = false;
  private readonly session: IncomingSession;
  private readonly owner: IncomingOwner;
  private readonly block: HeaderBlock;
  readonly data: IncomingData;
  /** Null until a PRIORITY_UPDATE arrives before its request. */
  private priorities: PendingPriorities | null = null;
  private hasTunnels = false;
  /** Whether the peer has given a sign of life since the last `readHeard`. */
  heard = false;

  constructor(session: IncomingSession, owner: IncomingOwner) {
    this.session = session;
    this.owner = owner;
    this.block = new HeaderBlock(session.limits.fieldList * 2);
    this.data = new IncomingData(session);
  }

  /** Whether a frame has come since the last call. */
  readHeard(): boolean {
    const { heard } = this;
    this.heard = false;
    return heard;
  }

  unreadable(code: number, reason: string): void {
    this.session.fail(code, reason);
  }

  /** Checks what applies to every frame. @returns whether the connection continues. */
  private begin(type: number, flags: number, id: number): boolean {
    this.heard = true;
    if (this.block.stream !== 0 && (type !== TYPE.continuation || id !== this.block.stream)) {
      this.session.fail(ERROR.protocol, 'a header block is interrupted');
      return false;
    }
    if (this.greeted) return true;
    this.greeted = type === TYPE.settings && (flags & FLAG.ack) === 0;
    if (!this.greeted) this.session.fail(ERROR.protocol, 'the first frame is not SETTINGS');
    return this.greeted;
  }

  frame(type: number, flags: number, id: number, buffer: Buffer, from: number, to: number): void {
    if (!this.begin(type, flags, id)) return;
    switch (type) {
      case TYPE.headers:
        return this.headers(flags, id, buffer, from, to);
      case TYPE.continuation:
        return this.continuation(flags, id, buffer.subarray(from, to));
      case TYPE.windowUpdate:
        return this.windowUpdate(id, buffer, from, to);
      case TYPE.rstStream:
        return this.rstStream(id, buffer, from, to);
      case TYPE.settings:
        return this.settings(flags, id, buffer, from, to);
      case TYPE.ping:
        return this.ping(flags, id, buffer.subarray(from, to));
      case TYPE.priority:
        return this.priority(id, buffer, from, to);
      case TYPE.priorityUpdate:
        return this.priorityUpdate(id, buffer, from, to);
      case TYPE.goAway:
        return this.goAway(id, buffer, from, to);
      case TYPE.pushPromise:
        // A client must not push, and our SETTINGS forbid it to servers (RFC 9113 8.4).
        return this.session.fail(ERROR.protocol, 'PUSH_PROMISE is not allowed');
      default:
        this.spend(COST.ignored);
    }
  }

  private spend(cost: number): void {
    spend(this.session, cost);
  }

  // DATA (RFC 9113 6.1).

  dataBegins(flags: number, id: number, length: number): void {
    if (this.begin(TYPE.data, flags, id)) this.data.begins(flags, id, length);
    else this.data.drop();
  }

  dataPiece(buffer: Buffer, from: number, to: number): void {
    this.data.piece(buffer, from, to);
  }

  dataEnds(): void {
    this.data.ends();
  }

  // Heads and trailers (RFC 9113 6.2, 6.10, 8.1).

  private headers(flags: number, id: number, buffer: Buffer, from: number, to: number): void {
    const { session } = this;
    if (id === 0) return session.fail(ERROR.protocol, 'HEADERS on stream 0');
    let start = from;
    let end = to;
    if ((flags & FLAG.padded) !== 0) {
      if (start === end) return session.fail(ERROR.frameSize, 'padding without its length');
      end -= buffer[start++] as number;
    }
    let selfDependent = false;
    if ((flags & FLAG.priority) !== 0) {
      if (end - start < PRIORITY_BYTES) return session.fail(end < start ? ERROR.protocol : ERROR.frameSize, 'HEADERS is too short');
      selfDependent = (readWord(buffer, start) & MAX_WINDOW) === id;
      start += PRIORITY_BYTES;
    }
    if (end < start) return session.fail(ERROR.protocol, 'more padding than the frame holds');
    if (selfDependent) return session.fail(ERROR.protocol, 'a stream depends on itself');
    const ends = (flags & FLAG.endStream) !== 0;
    if ((flags & FLAG.endHeaders) !== 0) return this.message(id, ends, buffer, start, end);
    this.block.begin(id, ends, buffer.subarray(start, end));
  }

  private continuation(flags: number, id: number, fragment: Buffer): void {
    const { block, session } = this;
    if (block.stream === 0) return session.fail(ERROR.protocol, 'CONTINUATION without HEADERS');
    this.spend(COST.fragment);
    if (session.ended) return;
    if (!block.add(fragment)) return session.fail(ERROR.enhanceYourCalm, 'a header block is too large');
    if ((flags & FLAG.endHeaders) === 0) return;
    const whole = block.drain();
    this.message(id, block.ends, whole, 0, whole.length);
  }

  private message(id: number, ends: boolean, buffer: Buffer, from: number, to: number): void {
    const stream = this.session.streams.get(id);
    if (stream === undefined)
      return this.session.limits.isServer ? this.newRequest(id, ends, buffer, from, to) : this.late(id, buffer, from, to);
    if (stream.headReceived) return this.trailersFor(stream, ends, buffer, from, to);
    const block = Incoming.response;
    block.begin();
    if (!this.decode(buffer, from, to, block)) return;
    if (ends) stream.inputEnded = true;
    this.owner.response(stream, block, this.session.decoder.tooLarge);
    if (ends) stream.endedWithHead();
  }

  /** The state of the decoder depends on every block, even those that are of no use (RFC 9113 4.3). */
  private decode(buffer: Buffer, from: number, to: number, block: RequestBlock | ResponseBlock | TrailerBlock): boolean {
    const { session } = this;
    const sink: FieldSink = block;
    if (session.decoder.decode(buffer, from, to, block.lines, session.limits.fieldList, sink)) return true;
    if (session.decoder.tooLarge) session.fail(ERROR.enhanceYourCalm, 'a header list is far too large');
    else session.fail(ERROR.compression, 'a header block cannot be decoded');
    return false;
  }

  private newRequest(id: number, ends: boolean, buffer: Buffer, from: number, to: number): void {
    const { session } = this;
    if (id % 2 === 0) return session.fail(ERROR.protocol, 'a client opened a stream with an even number');
    if (id <= session.lastPeerStream) return this.late(id, buffer, from, to);
    session.lastPeerStream = id;
    const block = Incoming.request;
    block.begin();
    if (!this.decode(buffer, from, to, block)) return;
    // RFC 9113 6.8: streams above the last one that our final GOAWAY named are ignored.
    if (id > session.lastAccepted) {
      session.closed.add(id, true);
      return this.spend(COST.ignored);
    }
    if (session.isFull) return session.streamError(id, ERROR.refusedStream);
    const stream = session.accept(id);
    stream.headReceived = true;
    if (ends) stream.inputEnded = true;
    // A PRIORITY_UPDATE that arrives before its request overrides the Priority field (RFC 9218 7.1).
    const updated = this.priorities?.removeUpTo(id);
    if (updated !== undefined) stream.priority = updated;
    else if (block.priority !== '') stream.priority = readPriority(block.priority);
    this.owner.request(stream, block, session.decoder.tooLarge);
    if (!ends && this.needsRoom(stream, block.method)) this.widen();
  }

  /** A few small bodies fit into the window as it is, and a tunnel lasts long, but neither must hold up other streams. */
  private needsRoom(stream: Http2Stream, method: string | null): boolean {
    const { streams, window } = this.session;
    const { expected } = stream;
    if (method === 'CONNECT') {
      this.hasTunnels = true;
      return streams.size > 1;
    }
    if (expected < 0 || expected > SMALL_BODY) return true;
    return expected > 0 && ((this.hasTunnels && streams.size > 1) || window.unread + expected * streams.size > 2 * SMALL_BODY);
  }

  /** Connections without uploads need no large window. */
  private widen(): void {
    const { session } = this;
    const more = session.window.widen(session.limits.connectionWindow);
    if (more > 0 && !session.ended) session.sender.output.frame(TYPE.windowUpdate, 0, 0, more);
  }

  /** A block for a stream that is closed or was never opened. */
  private late(id: number, buffer: Buffer, from: number, to: number): void {
    const { session } = this;
    // A stream of ours that is no longer remembered was reset by us.
    const wasReset = session.closed.get(id) ?? (session.limits.isServer || session.isIdle(id) ? undefined : true);
    if (wasReset === undefined) return session.fail(ERROR.protocol, 'HEADERS on a stream that was not opened');
    if (!wasReset) return session.fail(ERROR.streamClosed, 'HEADERS on a closed stream');
    const block = Incoming.trailers;
    block.begin();
    // A target that has not received our reset yet does nothing wrong.
    if (this.decode(buffer, from, to, block)) this.spend(session.limits.isServer ? COST.reset : COST.ignored);
  }

  private trailersFor(stream: Http2Stream, ends: boolean, buffer: Buffer, from: number, to: number): void {
    const { session } = this;
    const block = Incoming.trailers;
    block.begin();
    if (!this.decode(buffer, from, to, block)) return;
    if (stream.inputEnded) return session.streamError(stream.id, ERROR.streamClosed);
    const lines = ends && !session.decoder.tooLarge ? block.finish(session.limits.isServer ? 'request' : 'response') : null;
    if (lines === null || !stream.endInput(lines)) session.streamError(stream.id, ERROR.protocol);
  }

  // The rest.

  private windowUpdate(id: number, buffer: Buffer, from: number, to: number): void {
    const { session } = this;
    if (to - from !== 4) return session.fail(ERROR.frameSize, 'WINDOW_UPDATE is not four bytes long');
    const bytes = readWord(buffer, from) & MAX_WINDOW;
    this.spend(COST.windowUpdate);
    if (session.ended) return;
    if (id === 0) {
      if (bytes === 0) session.fail(ERROR.protocol, 'WINDOW_UPDATE has an increment of zero');
      else if (!session.sender.openWindow(bytes)) session.fail(ERROR.flowControl, 'the window of the connection is too large');
      return;
    }
    const stream = session.streams.get(id);
    if (stream === undefined) {
      if (session.isIdle(id)) session.fail(ERROR.protocol, 'WINDOW_UPDATE on an idle stream');
      return;
    }
    if (bytes === 0) return session.streamError(id, ERROR.protocol);
    stream.sendWindow += bytes;
    if (stream.sendWindow > MAX_WINDOW) session.streamError(id, ERROR.flowControl);
  }

  private rstStream(id: number, buffer: Buffer, from: number, to: number): void {
    const { session } = this;
    if (id === 0) return session.fail(ERROR.protocol, 'RST_STREAM on stream 0');
    if (to - from !== 4) return session.fail(ERROR.frameSize, 'RST_STREAM is not four bytes long');
    const stream = session.streams.get(id);
    if (stream === undefined) {
      if (session.isIdle(id)) return session.fail(ERROR.protocol, 'RST_STREAM on an idle stream');
      return this.spend(COST.ignored);
    }
    stream.resetByPeer(readWord(buffer, from), !session.limits.isServer);
    session.closed.add(id, false);
    this.spend(session.limits.isServer ? COST.reset : COST.ignored);
  }

  private settings(flags: number, id: number, buffer: Buffer, from: number, to: number): void {
    const { session, owner } = this;
    const length = to - from;
    if (id !== 0) return session.fail(ERROR.protocol, 'SETTINGS on a stream');
    if ((flags & FLAG.ack) !== 0) {
      if (length > 0) return session.fail(ERROR.frameSize, 'an acknowledgement has a payload');
      session.settingsAcknowledged();
      return this.spend(COST.ignored);
    }
    if (length % SETTING_BYTES !== 0) return session.fail(ERROR.frameSize, 'the length of SETTINGS is not a multiple of six');
    if (length > MAX_SETTINGS * SETTING_BYTES) return session.fail(ERROR.enhanceYourCalm, 'too many settings');
    const { initialWindowSize } = session.peer;
    const code = session.peer.apply(buffer, from, to, session.limits.isServer);
    if (code !== ERROR.none) return session.fail(code, 'a setting has an invalid value');
    // If it was smaller in between, the peer has dropped what was in it (RFC 7541 4.2).
    session.sender.limitTable(session.peer.minHeaderTableSize);
    session.sender.limitTable(session.peer.headerTableSize);
    // RFC 9113 6.9.2: the change applies to the windows of all open streams.
    const change = session.peer.initialWindowSize - initialWindowSize;
    if (change !== 0)
      for (const stream of session.streams.values()) {
        stream.sendWindow += change;
        if (stream.sendWindow > MAX_WINDOW) return session.fail(ERROR.flowControl, 'the window of a stream is too large');
      }
    session.sender.output.frame(TYPE.settings, FLAG.ack, 0);
    this.spend(COST.answered);
    if (!session.ended) owner.settingsChanged(session.peer);
  }

  private ping(flags: number, id: number, payload: Buffer): void {
    const { session } = this;
    if (id !== 0) return session.fail(ERROR.protocol, 'PING on a stream');
    if (payload.length !== PING_BYTES) return session.fail(ERROR.frameSize, 'PING is not eight bytes long');
    if ((flags & FLAG.ack) !== 0) {
      session.pingAcknowledged(payload);
      return this.spend(COST.ignored);
    }
    session.sender.output.frameOf(TYPE.ping, FLAG.ack, 0, payload);
    this.spend(COST.answered);
  }

  /** Deprecated (RFC 9113 5.3.2): checked, and ignored. */
  private priority(id: number, buffer: Buffer, from: number, to: number): void {
    const { session } = this;
    if (id === 0) return session.fail(ERROR.protocol, 'PRIORITY on stream 0');
    const code =
      to - from !== PRIORITY_BYTES ? ERROR.frameSize : (readWord(buffer, from) & MAX_WINDOW) === id ? ERROR.protocol : ERROR.none;
    if (code === ERROR.none) return this.spend(COST.ignored);
    // A stream that was never opened can't be reset.
    if (session.isIdle(id)) session.fail(code, 'PRIORITY is malformed');
    else session.streamError(id, code);
  }

  /** RFC 9218 7.1. */
  private priorityUpdate(id: number, buffer: Buffer, from: number, to: number): void {
    const { session } = this;
    if (id !== 0 || !session.limits.isServer)
      return session.fail(ERROR.protocol, 'PRIORITY_UPDATE is not from a client or not on stream 0');
    if (to - from < 4) return session.fail(ERROR.frameSize, 'PRIORITY_UPDATE is too short');
    const prioritized = readWord(buffer, from) & MAX_WINDOW;
    if (prioritized === 0) return session.fail(ERROR.protocol, 'PRIORITY_UPDATE for stream 0');
    const stream = session.streams.get(prioritized);
    const priority = readPriority(buffer.toString('latin1', from + 4, to));
    if (stream !== undefined) stream.priority = priority;
    else if (prioritized > session.lastPeerStream && prioritized % 2 === 1) {
      this.priorities ??= new PendingPriorities();
      if (!this.priorities.set(prioritized, priority, session.limits.streams - session.streams.size))
        return session.fail(ERROR.protocol, 'more streams are prioritized than may be open');
    }
    this.spend(COST.prioritized);
  }

  private goAway(id: number, buffer: Buffer, from: number, to: number): void {
    const { session } = this;
    if (id !== 0) return session.fail(ERROR.protocol, 'GOAWAY on a stream');
    if (to - from < 8) return session.fail(ERROR.frameSize, 'GOAWAY is too short');
    this.spend(COST.answered);
    session.goAwayReceived(readWord(buffer, from) & MAX_WINDOW, readWord(buffer, from + 4));
  }
}
