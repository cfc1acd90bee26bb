import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { TurnoverMap } from '../../../../shared/runtime/turnover-map.ts';
import { ResponseHead } from '../../codec/http1/response-head.ts';
import { ERROR } from '../../codec/http2/frames/frame.ts';
import type { PeerSettings } from '../../codec/http2/frames/settings.ts';
import type { ResponseBlock } from '../../codec/http2/headers/response-block.ts';
import { Http2Session } from '../../codec/http2/session.ts';
import type { SessionOwner } from '../../codec/http2/session-owner.ts';
import type { Http2Stream } from '../../codec/http2/stream.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { FAILURE, type Failure } from '../../exchange/failure.ts';
import { guard } from '../../exchange/faults.ts';
import { streamHasBacklog } from '../../io/backlog.ts';
import { type DirectReader, DirectSocket } from '../../io/direct-socket.ts';
import { surviveFailedWrites } from '../../io/failed-writes.ts';
import { Intake } from '../../io/intake.ts';
import { limitLastBytes } from '../../io/last-bytes.ts';
import { ReadBuffer } from '../../io/read-buffer.ts';
import { connectTo } from '../target/connect.ts';
import type { Endpoint } from '../target/endpoint.ts';
import { CROWDED, SESSION_LIMITS } from './session-limits.ts';
import { SessionRoom } from './session-room.ts';
import { type StreamOwner, UpstreamStream } from './stream.ts';
import type { UpstreamSessionOwner } from './upstream-session-owner.ts';

/** A session without streams is closed after this time (ms). A target that closes it sooner announces that first (RFC 9113 9.1). */
const IDLE_MS = 30_000;
/** After this many requests a session is replaced by a new one, because stream identifiers are never reused (RFC 9113 5.1.1). */
const MAX_SERVED = 1_000_000;
/** Node's servers end a connection on which they have turned many requests away: at once, so that a later loss has another reason (ms). */
const TURNING_AWAY_MS = 1_000;

/** One HTTP/2 connection to a target with many concurrent exchanges (RFC 9113). */
export class UpstreamSession implements StreamOwner, SessionOwner, DirectReader {
  readonly endpoint: Endpoint;
  /** Reads one response head after the other. */
  readonly head = new ResponseHead();
  private readonly owner: UpstreamSessionOwner<UpstreamSession>;
  private readonly streams = new TurnoverMap<number, UpstreamStream>();
  private state: 'connecting' | 'open' | 'draining' | 'closed' = 'connecting';
  socket: Socket | null = null;
  private direct: DirectSocket | null = null;
  private intake: Intake | null = null;
  private readonly buffers = new ReadBuffer();
  private http2: Http2Session | null = null;
  private readonly room = new SessionRoom();
  /** Whether nothing more can be written to the target. */
  private isCut = false;
  private readonly connectMs: number;
  private deadline: number;
  private cancelConnect: () => void = () => undefined;
  /** How many requests it has taken. */
  private taken = 0;
  /** Whether the target has turned a request away on it. Node's servers do while much is unread that they would send there. */
  turnsAway = false;
  /** When it last did, in ms on the monotonic clock. */
  private turnedAwayAt = Number.NEGATIVE_INFINITY;
  /** How many exchanges it has completed. */
  private served = 0;
  /** Why it failed, if the target violated the protocol; else null. */
  private broken: Failure | null = null;

  /** `connectMs` is the time limit for establishing it. */
  constructor(endpoint: Endpoint, owner: UpstreamSessionOwner<UpstreamSession>, connectMs: number) {
    this.endpoint = endpoint;
    this.connectMs = connectMs;
    this.owner = owner;
    this.deadline = endpoint.tools.clock.monotonic() + connectMs;
  }

  get connecting(): boolean {
    return this.state === 'connecting';
  }

  get established(): boolean {
    return this.state === 'open';
  }

  /** Whether its connection is open. */
  get alive(): boolean {
    return this.http2 !== null && !this.http2.isClosing && !this.http2.ended && this.socket?.destroyed === false;
  }

  get holdsTarget(): boolean {
    return this.http2?.isHolding === true;
  }

  /** What clients have not read of what the target has sent on it, and no stream may keep without using it up (bytes). */
  get unreadBytes(): number {
    return this.http2 === null ? 0 : this.http2.window.unread;
  }

  /** Whether nothing is read of the target although clients wait for that. */
  get holdsOthersUp(): boolean {
    if (!this.holdsTarget) return false;
    for (const { unreadSince } of this.streams.values()) if (unreadSince === Number.POSITIVE_INFINITY) return true;
    return false;
  }

  /** Whether clients do not read much of what the target has sent on it. */
  get isCrowded(): boolean {
    return this.unreadBytes >= CROWDED;
  }

  /** Whether further requests are better sent on another one, even if that has to be opened. */
  get isLastResort(): boolean {
    return this.turnsAway || this.isCrowded || this.isWornOut;
  }

  /** Whether so many of its requests were cancelled that its target may soon end it, with the requests of other clients. */
  get isWornOut(): boolean {
    return this.http2?.resets.areMany === true;
  }

  /** Whether it can take a request at once. */
  get hasRoom(): boolean {
    return this.hasRoomBeside(this.http2?.resets.waitingCount ?? 0);
  }

  /** `cancelled`: how many cancelled requests count as open. */
  private hasRoomBeside(cancelled: number): boolean {
    if (this.state !== 'open' || !this.alive || this.isCut || this.holdsTarget) return false;
    return this.room.isLeft(this.streams.size + cancelled, this.owner.streamLimit);
  }

  /** Tells the target of as many cancellations that wait as it takes to have room. @returns whether it has. */
  makeRoom(): boolean {
    if (this.hasRoomBeside(0)) while (!this.hasRoom) this.http2?.resets.sendNext();
    return this.hasRoom;
  }

  /** Whether the target accepts no stream on it for now. It may soon (RFC 9113 6.5.2), and a further session would fare the same. */
  get admitsNone(): boolean {
    return this.state === 'open' && this.alive && this.room.isNone;
  }

  /** Whether it has ended, or takes no more requests, and has never taken one. */
  get wasUseless(): boolean {
    return this.taken === 0 && (this.state === 'draining' || this.state === 'closed');
  }

  /** Whether an exchange is under way on it. */
  get isInUse(): boolean {
    return this.streams.size > 0;
  }

  /** Opens it. The owner is notified of the result, perhaps before this returns. */
  connect(): void {
    this.cancelConnect = connectTo(
      this.endpoint,
      this.connectMs,
      { alpn: 'h2' },
      (socket) => {
        this.socket = socket;
        guard(this, this.startSession, socket);
      },
      (failure) => guard(this, this.end, failure),
    );
  }

  private startSession(socket: Socket | TLSSocket): void {
    const { serverName } = this.endpoint;
    if (serverName !== null && (!('alpnProtocol' in socket) || socket.alpnProtocol !== 'h2')) {
      socket.destroy();
      return this.end(FAILURE.noHttp2);
    }
    socket.setNoDelay(true);
    this.direct = new DirectSocket(socket, this);
    surviveFailedWrites(this.direct, () => this.writeFailed(socket));
    this.intake = new Intake(this.direct, this.endpoint.tools.runQueue, () => this.intake?.readOn());
    this.http2 = new Http2Session(this, SESSION_LIMITS);
    socket.on('drain', () => guard(this, this.drained));
    // HTTP/2 has no half-closed connections: a target that ends its side does not read either.
    socket.on('end', () => socket.destroy());
    // The close event that follows is handled.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => guard(this, this.socketClosed));
    this.direct.read();
  }

  monotonic(): number {
    return this.endpoint.tools.clock.monotonic();
  }

  nextBuffer(): Buffer {
    const { http2 } = this;
    return this.buffers.next(http2?.readsBodies === true, http2?.lendsBytes === true);
  }

  receive(bytes: Buffer): void {
    const { http2, intake } = this;
    if (http2 === null || intake === null) return;
    intake.renew();
    http2.receive(bytes, ReadBuffer.mustCopy(bytes));
    intake.spend(http2.decoder.takeCost());
    intake.isTurnOver();
  }

  private drained(): void {
    this.http2?.drained();
  }

  /** The target has closed the connection. What it has sent before is read: perhaps which requests it has not processed. */
  private writeFailed(socket: Socket): boolean {
    if (!this.isCut) limitLastBytes(socket, this.endpoint.tools.clock);
    this.isCut = true;
    return true;
  }

  private socketClosed(): void {
    this.broken ??= this.connecting && this.http2?.greeted === false ? FAILURE.closed : null;
    if (this.http2?.ended === false) this.http2.lost(ERROR.cancel);
    this.end(this.connecting ? (this.broken ?? FAILURE.closed) : null);
  }

  write(parts: readonly Buffer[]): boolean {
    return this.direct?.writeParts(parts) ?? false;
  }

  /** A server sends its SETTINGS first (RFC 9113 3.4), so its limits are known before the first request. */
  settingsChanged({ maxConcurrentStreams }: PeerSettings): void {
    this.room.limit(maxConcurrentStreams);
    if (this.connecting) {
      this.state = 'open';
      this.restartIdleTimer();
      this.endpoint.tools.connected(this.endpoint);
    }
    this.owner.capacityChanged(this);
  }

  request(): void {
    throw new Error('a target sends no requests');
  }

  response(stream: Http2Stream, block: ResponseBlock, tooLarge: boolean): void {
    this.streams.get(stream.id)?.answer(block, tooLarge);
  }

  readComplete(): void {
    // Each stream has been notified already.
  }

  holdBack(held: boolean): void {
    if (held) this.intake?.holdBack();
    else this.intake?.resume();
  }

  goingAway(): void {
    this.http2?.close();
    this.leave();
  }

  failed(byPeer: boolean): void {
    this.broken = this.connecting ? FAILURE.noHttp2 : byPeer ? FAILURE.closed : FAILURE.malformed;
    this.hangUp();
    this.end(this.connecting ? this.broken : null);
  }

  finished(): void {
    this.hangUp();
  }

  /** Closes the connection once everything has been sent. */
  private hangUp(): void {
    const { socket } = this;
    if (socket === null) return;
    socket.destroySoon();
    limitLastBytes(socket, this.endpoint.tools.clock);
  }

  send(x: Exchange): void {
    const { http2 } = this;
    if (http2 === null) throw new Error('a session takes no request before it is established');
    const opened = http2.open();
    if (opened === null) throw new Error('a session takes no request after its last');
    this.taken++;
    this.room.take();
    const stream = new UpstreamStream(this, x, opened);
    this.streams.set(opened.id, stream);
    stream.begin();
  }

  /** The target has accepted one of its requests, or will not. */
  accepted(): void {
    if (this.room.accepted() && this.hasRoom) this.owner.capacityChanged(this);
  }

  /** The target has turned one of its requests away. */
  turnedAway(): void {
    this.turnsAway = true;
    const now = this.monotonic();
    this.turnedAwayAt = now;
    let serving = 0;
    for (const stream of this.streams.values()) if (stream.isServed(now)) serving++;
    this.owner.turnedAway(serving);
  }

  /** One of its streams has ended. */
  streamEnded(stream: UpstreamStream, answered: boolean): void {
    if (!this.streams.delete(stream.id)) return;
    if (answered && ++this.served >= MAX_SERVED) this.leave();
    if (this.isDraining && this.streams.size === 0) this.http2?.close();
    this.restartIdleTimer();
    if (this.hasRoom) this.owner.capacityChanged(this);
    if (this.endpoint.leaving) this.retire();
  }

  private restartIdleTimer(): void {
    this.deadline = this.endpoint.tools.clock.monotonic() + IDLE_MS;
  }

  /** Whether it has taken more than one request. */
  get isShared(): boolean {
    return this.taken > 1;
  }

  /** Whether it has completed an exchange. If so, its loss says nothing about the health of the target. */
  get hasServed(): boolean {
    return this.served > 0;
  }

  /** Whether it only completes the open streams, mostly because the target has sent GOAWAY (RFC 9113 6.8). */
  get isDraining(): boolean {
    return this.state === 'draining';
  }

  /** The failure of its streams if it ends. */
  get reason(): Failure {
    const reason = this.broken ?? FAILURE.closed;
    return reason === FAILURE.closed && this.monotonic() - this.turnedAwayAt < TURNING_AWAY_MS ? FAILURE.turnedAway : reason;
  }

  /** Closes it if no stream is open. */
  retire(): void {
    if (this.state === 'open' && this.streams.size === 0) this.destroy();
  }

  /** Takes no more requests; open streams are completed. */
  leave(): void {
    if (this.state !== 'open') return;
    this.state = 'draining';
    if (this.streams.size === 0) this.http2?.close();
    this.owner.capacityChanged(this);
  }

  private destroy(): void {
    this.http2?.close();
    this.end(null);
  }

  /** Its state can't be trusted any more: ends it and its streams. */
  onFault(error: unknown): void {
    const { endpoint, http2, socket, connecting } = this;
    const { faults } = endpoint.tools;
    faults.note('connection', error, { target: endpoint.address });
    faults.step(() => http2?.lost(ERROR.internal));
    faults.step(() => socket?.destroy());
    faults.step(() => this.end(connecting ? FAILURE.fault : null));
    faults.step(() => this.owner.ended(this, connecting ? FAILURE.fault : null));
  }

  /** `failure` is passed to the requests that wait for it. */
  private end(failure: Failure | null): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.cancelConnect();
    this.owner.ended(this, failure);
  }

  collectRetryable(elsewhere: (x: Exchange) => boolean, recalled: Exchange[]): void {
    for (const { retryable: x } of this.streams.values()) if (x !== null && elsewhere(x)) recalled.push(x);
  }

  /** Those of its responses that give it room if they end, and have been unread since before `time`. */
  unreadBefore(time: number): UpstreamStream[] {
    const { holdsTarget } = this;
    if (this.state !== 'open' || this.admitsNone || this.room.isAwaited) return [];
    return this.unread(time).filter((stream) => !holdsTarget || stream.usesWindow);
  }

  /** Those of its responses that have been unread since before `time`. */
  unread(time: number): UpstreamStream[] {
    return [...this.streams.values()].filter((stream) => stream.unreadSince < time);
  }

  /** Enforces its time limits and those of its streams. */
  sweep(now: number): void {
    if (this.socket !== null && streamHasBacklog(this.socket)) this.socket.destroy();
    this.http2?.sweep(now);
    for (const stream of [...this.streams.values()]) guard(stream, stream.sweep, now);
    if (now < this.deadline || this.streams.size > 0) return;
    if (this.state === 'open') return this.destroy();
    if (!this.connecting) return;
    // The connection is established but the target is silent. Before that, `connectTo` enforces the limit.
    if (this.http2 === null) return;
    this.end(FAILURE.connectTimeout);
    this.socket?.destroy();
  }
}
