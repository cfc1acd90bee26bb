import { TurnoverMap } from '../../../../shared/runtime/turnover-map.ts';
import { DEFAULT_WINDOW, ERROR, MAX_STREAM_ID, TYPE } from './frames/frame.ts';
import { FrameReader } from './frames/frame-reader.ts';
import { PrefaceReader } from './frames/preface.ts';
import { PeerSettings } from './frames/settings.ts';
import { greet } from './greeting.ts';
import { HpackDecoder } from './hpack/decoder.ts';
import { Incoming } from './incoming.ts';
import { advance, settle } from './limits/advance.ts';
import { ClosedStreams } from './limits/closed-streams.ts';
import { COST, EARNED, FloodBudget, MIN_USEFUL } from './limits/flood-budget.ts';
import { Liveness } from './limits/liveness.ts';
import { ReceiveWindow } from './limits/receive-window.ts';
import { Resets } from './limits/resets.ts';
import type { OutgoingHead } from './outgoing-head.ts';
import { Sender } from './sender.ts';
import type { SessionLimits, SessionOwner } from './session-owner.ts';
import { Http2Stream, type StreamSession } from './stream.ts';

const HEADER_TABLE_BYTES = 4_096;
/** The second GOAWAY follows the first one after this time at the latest (ms). */
const GOING_MS = 1_000;

const PING_ALIVE = Buffer.from('sluice-1');
const PING_GOING = Buffer.from('sluice-2');

/**
 * One HTTP/2 connection (RFC 9113), on either side: bytes become streams and streams become bytes. It knows neither sockets nor exchanges.
 */
export class Http2Session implements StreamSession {
  readonly limits: SessionLimits;
  readonly peer = new PeerSettings();
  readonly streams = new TurnoverMap<number, Http2Stream>();
  readonly budget = new FloodBudget();
  readonly decoder = new HpackDecoder(HEADER_TABLE_BYTES);
  readonly sender: Sender;
  readonly window: ReceiveWindow;
  readonly resets: Resets;
  readonly closed = new ClosedStreams();
  /** The highest stream that the peer has opened. */
  lastPeerStream = 0;
  /** Streams above this one are not processed, as our last GOAWAY announced. */
  lastAccepted = MAX_STREAM_ID;
  /** Whether nothing is read or opened any more. */
  ended = false;
  /** Whether reading has stopped because too much is unread. */
  isHolding = false;
  private readonly owner: SessionOwner;
  private readonly reader: FrameReader;
  private readonly incoming: Incoming;
  /** Null for a server, which has none. */
  private readonly preface: PrefaceReader | null;
  private nextStream: number;
  private woken: Http2Stream[] = [];
  private scheduled = false;
  private receiving = false;
  private readonly liveness: Liveness;
  /** When the first GOAWAY was sent; -1 before. */
  private goingSince = -1;
  private goneFully = false;
  private peerIsLeaving = false;

  constructor(owner: SessionOwner, limits: SessionLimits) {
    this.owner = owner;
    this.limits = limits;
    this.window = new ReceiveWindow(limits.isServer ? DEFAULT_WINDOW : limits.connectionWindow, limits.maxConnectionWindow, true);
    this.sender = new Sender((parts) => owner.write(parts));
    this.resets = new Resets(this.sender.output, !limits.isServer);
    this.incoming = new Incoming(this, owner);
    this.reader = new FrameReader(this.incoming);
    this.preface = limits.isServer ? new PrefaceReader() : null;
    this.nextStream = 1;
    this.liveness = new Liveness(owner.monotonic(), limits.isServer ? 'client' : 'target');
    greet(this.sender.output, limits);
    this.schedule();
  }

  /** Whether the peer has begun with its SETTINGS. */
  get greeted(): boolean {
    return this.incoming.greeted;
  }

  // Reading.

  /** Reads bytes of the peer. `reused`: they are overwritten after the call. */
  receive(bytes: Buffer, reused = false): void {
    if (this.ended) return;
    this.receiving = true;
    this.incoming.data.beginRead(reused);
    try {
      const at = this.preface === null ? 0 : this.preface.skip(bytes);
      if (at < 0) this.fail(ERROR.protocol, 'the connection does not begin with the preface');
      else this.reader.feed(bytes, at, bytes.length);
      this.report();
    } finally {
      // After an exception, the end of the connection is reported to its streams at once.
      this.receiving = false;
    }
    if (!this.ended) this.owner.readComplete();
    const more = this.ended ? 0 : this.window.reopen();
    if (more > 0) this.sender.output.frame(TYPE.windowUpdate, 0, 0, more);
    this.hold();
    this.schedule();
  }

  private hold(): void {
    const holds = !this.ended && this.window.unread >= this.limits.maxUnread;
    if (holds === this.isHolding) return;
    this.isHolding = holds;
    this.owner.holdBack(holds);
  }

  /** Whether bodies were among the bytes that were read last, so that more of them will follow. */
  get readsBodies(): boolean {
    return this.incoming.data.readsBodies;
  }

  /** Whether the bytes that were read last have been passed on, so that they must not be overwritten. */
  get lendsBytes(): boolean {
    return this.incoming.data.lendsBytes;
  }

  /** The peer has acknowledged a PING. */
  pingAcknowledged(payload: Buffer): void {
    if (this.isClosing && payload.equals(PING_GOING)) this.sendLastGoaway();
  }

  goAwayReceived(lastStream: number, code: number): void {
    this.peerIsLeaving = true;
    this.owner.goingAway();
    // Requests above `lastStream` were not processed (RFC 9113 6.8).
    if (!this.limits.isServer)
      for (const stream of [...this.streams.values()]) if (stream.id > lastStream) stream.abandon(ERROR.refusedStream);
    if (code === ERROR.none) return;
    // Why the connection ends says nothing about a single request: as the code of a stream, this one would (RFC 9113 8.7).
    this.lost(code === ERROR.refusedStream ? ERROR.internal : code);
    this.owner.failed(true, 'the peer has ended the connection');
  }

  settingsAcknowledged(): void {
    this.liveness.settingsAcknowledged();
  }

  /** Resets one stream because of an invalid frame (RFC 9113 5.4.2). */
  streamError(id: number, code: number): void {
    if (!this.budget.spend(COST.reset)) return this.fail(ERROR.enhanceYourCalm, 'too many streams end with an error');
    const stream = this.streams.get(id);
    if (stream !== undefined) return stream.reset(code);
    this.closed.add(id, true);
    this.sender.output.frame(TYPE.rstStream, 0, id, code);
  }

  /** Opens a stream. */
  accept(id: number): Http2Stream {
    const { streamWindow, maxStreamWindow } = this.limits;
    const stream = new Http2Stream(id, this, this.peer.initialWindowSize, new ReceiveWindow(streamWindow, maxStreamWindow));
    this.streams.set(id, stream);
    return stream;
  }

  /** Whether the peer may not open another stream. */
  get isFull(): boolean {
    return this.streams.size >= this.limits.streams;
  }

  /** Reopens the window of the connection by bytes that no stream keeps. */
  discard(bytes: number): void {
    const more = this.window.consume(bytes);
    if (more > 0 && !this.ended) this.sender.output.frame(TYPE.windowUpdate, 0, 0, more);
    if (this.isHolding) this.hold();
  }

  // Opening.

  /** Opens a stream for a request of ours. @returns null when the identifiers are used up. */
  open(): Http2Stream | null {
    if (this.nextStream > MAX_STREAM_ID || this.ended) return null;
    const stream = this.accept(this.nextStream);
    this.nextStream += 2;
    return stream;
  }

  /** Whether `id` is a stream of ours that has not been opened yet. */
  isIdle(id: number): boolean {
    const ours = id % 2 === (this.limits.isServer ? 0 : 1);
    return ours ? id >= this.nextStream || this.limits.isServer : id > this.lastPeerStream;
  }

  // What streams need.

  get writable(): boolean {
    return this.sender.writable && !this.ended;
  }

  get sendWindow(): number {
    return this.sender.window;
  }

  set sendWindow(bytes: number) {
    this.sender.window = bytes;
  }

  // An exception in one of the next three ends the connection, because its output may be incomplete.
  sendHead(stream: Http2Stream, head: OutgoingHead, ends: boolean): void {
    try {
      this.sender.head(stream, head, ends);
      this.schedule();
    } catch (error) {
      this.owner.onFault(error);
    }
  }

  sendData(stream: Http2Stream, ends: boolean, buffer: Buffer, from: number, to: number): void {
    try {
      // What a window has cut short may be the peer's fault, which can open it byte by byte.
      if (to - from >= MIN_USEFUL || to - from < Math.min(stream.sendWindow, this.sendWindow)) this.budget.earn(EARNED.sent);
      this.sender.data(stream, ends, buffer, from, to);
      this.schedule();
    } catch (error) {
      this.owner.onFault(error);
    }
  }

  sendEnd(stream: Http2Stream): void {
    try {
      this.sender.end(stream);
      this.schedule();
    } catch (error) {
      this.owner.onFault(error);
    }
  }

  sendReset(stream: Http2Stream, code: number): void {
    // Before its head, a stream that we open is idle for the server, which ends the connection if that is reset (RFC 9113 5.1).
    if (this.ended || (stream.isUnsent && !this.limits.isServer)) return;
    this.resets.send(stream.id, code, this.owner.monotonic());
    this.schedule();
  }

  enqueue(stream: Http2Stream): void {
    this.sender.enqueue(stream);
    this.schedule();
  }

  wake(stream: Http2Stream): void {
    this.woken.push(stream);
    if (!this.receiving) this.schedule();
  }

  kept(stream: Http2Stream, bytes: number): void {
    // The connection of a client is its own, but that to a target is shared by clients that must not hold each other up.
    if (!this.limits.isServer) this.discard(advance(stream, bytes));
    this.wake(stream);
  }

  consumed(stream: Http2Stream, bytes: number): void {
    this.discard(settle(stream, bytes));
    if (stream.isClosed || stream.inputEnded || this.ended) return;
    const more = stream.window.consume(bytes);
    if (more > 0) this.sender.output.frame(TYPE.windowUpdate, 0, stream.id, more);
    this.schedule();
  }

  streamClosed(stream: Http2Stream): void {
    if (!this.streams.delete(stream.id)) return;
    this.sender.dequeue(stream);
    this.closed.add(stream.id, stream.wasReset && !stream.inputEnded);
    if (!stream.wasReset || !this.limits.isServer) this.budget.earn(EARNED.stream);
    this.schedule();
  }

  // Turns.

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(runTurn, this);
  }

  /** Reports events to streams and writes the gathered frames, once per turn of the event loop. */
  turn(): void {
    this.scheduled = false;
    this.report();
    if (this.ended) return;
    this.sender.flush();
    if (this.sender.isStuck) this.fail(ERROR.enhanceYourCalm, 'the peer does not read what is sent');
    // What was sent may have ended or unblocked streams.
    if (this.woken.length > 0) this.schedule();
    if (this.goneFully && this.streams.size === 0 && !this.ended) this.finish();
  }

  /** Its state can't be trusted any more. */
  onFault(error: unknown): void {
    this.owner.onFault(error);
  }

  private report(): void {
    while (this.woken.length > 0) {
      const woken = this.woken;
      this.woken = [];
      for (const stream of woken) {
        try {
          stream.report();
        } catch (error) {
          // The others are notified all the same.
          this.onFault(error);
        }
      }
    }
  }

  /** The connection accepts bytes again. */
  drained(): void {
    this.sender.drained();
    this.incoming.heard = true;
    this.turn();
  }

  // The end.

  /**
   * Ends the connection gracefully (RFC 9113 6.8): a first GOAWAY announces it, and a second one, after a round trip, names the last
   * request that is processed. Open streams are completed.
   */
  close(): void {
    if (this.goingSince >= 0 || this.ended) return;
    this.goingSince = this.owner.monotonic();
    const { sender } = this;
    // A peer that has sent GOAWAY opens no more streams.
    if (!this.limits.isServer || this.peerIsLeaving) this.sendLastGoaway();
    else {
      sender.goAway(MAX_STREAM_ID, ERROR.none, '');
      sender.output.frameOf(TYPE.ping, 0, 0, PING_GOING);
    }
    this.schedule();
  }

  get isClosing(): boolean {
    return this.goingSince >= 0;
  }

  private sendLastGoaway(): void {
    if (this.goneFully || this.ended) return;
    this.goneFully = true;
    this.lastAccepted = this.lastPeerStream;
    this.sender.goAway(this.lastPeerStream, ERROR.none, '');
    this.schedule();
  }

  private finish(): void {
    this.ended = true;
    this.reader.stop();
    this.window.release();
    this.owner.finished();
  }

  /** Ends the connection at once (RFC 9113 5.4.1), and with it all of its streams. */
  fail(code: number, reason: string): void {
    if (this.ended) return;
    this.sender.goAway(this.lastPeerStream, code, reason);
    this.lost(code);
    if (this.sender.output.length > 0) this.sender.flush();
    this.owner.failed(false, reason);
  }

  /** The connection is gone, and with it all of its streams. */
  lost(code: number): void {
    this.ended = true;
    this.reader.stop();
    this.window.release();
    for (const stream of [...this.streams.values()]) {
      stream.abandon(code);
      // Also streams that are closed already: an exception may have prevented their notification.
      this.woken.push(stream);
    }
    if (!this.receiving) this.report();
  }

  /** Enforces the time limits of the connection itself; called periodically. */
  sweep(now: number): void {
    if (this.ended) return;
    this.budget.refill(now);
    if (this.resets.sweep(now)) this.schedule();
    if (this.greeted && this.liveness.settingsOverdue(now)) return this.fail(ERROR.settingsTimeout, 'our SETTINGS were not acknowledged');
    if (this.goingSince >= 0 && now - this.goingSince >= GOING_MS) this.sendLastGoaway();
    const state = this.liveness.check(now, this.incoming.readHeard() || this.isHolding, this.streams.size > 0);
    if (state === 'gone') return this.fail(ERROR.none, 'a PING was not answered');
    if (state !== 'ping') return;
    this.sender.output.frameOf(TYPE.ping, 0, 0, PING_ALIVE);
    this.schedule();
  }
}

function runTurn(session: Http2Session): void {
  try {
    session.turn();
  } catch (error) {
    session.onFault(error);
  }
}
