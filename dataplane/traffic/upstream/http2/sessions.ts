import type { Exchange } from '../../exchange/exchange.ts';
import type { Failure } from '../../exchange/failure.ts';
import { guard, guardExchange } from '../../exchange/faults.ts';
import type { TargetChannel } from '../target/channel.ts';
import type { Endpoint } from '../target/endpoint.ts';
import type { LastAddresses } from '../target/last-addresses.ts';
import { UNREAD_MS, WaitingRoom } from '../target/waiting-room.ts';
import { UpstreamSession } from './session.ts';
import { MAX_STREAMS } from './session-room.ts';

/** The maximum number of sessions to one target from one worker, if it allows few streams per session. Further requests wait. */
const MAX_SESSIONS = 8;
/** The same with those that only complete their streams, so that no client can have any number of them opened. */
const MAX_OPEN = 64;

/** A target that turns requests away gets no more on a session than it was serving, and at least this many. */
const FEWEST_STREAMS = 8;
/** After this time without another one, it gets twice as many (ms). */
const MORE_MS = 5_000;

/** The HTTP/2 sessions to one target: one, as long as it has free streams. */
export class Http2Sessions implements TargetChannel {
  private readonly endpoint: Endpoint;
  private readonly open = new Set<UpstreamSession>();
  /** Closed ones of which clients have not read every response yet: those still have a place at the target. */
  private readonly unreadAfterwards = new Set<UpstreamSession>();
  /** The one that was opened last, until it is established. */
  private newest: UpstreamSession | null = null;
  private readonly waiting: WaitingRoom;
  streamLimit = MAX_STREAMS;
  /** When it doubles, in ms on the monotonic clock. */
  private moreAt = 0;

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint;
    this.waiting = new WaitingRoom(endpoint);
  }

  get warm(): boolean {
    return this.withRoom() !== null;
  }

  /** Unlike a reused connection, a session that is about to close takes no requests, so every stream is fresh. */
  send(x: Exchange): void {
    const session = this.waiting.empty ? this.withRoom() : null;
    if (session !== null) return session.send(x);
    x.trace?.spans?.waits(this.opening || this.open.size < MAX_SESSIONS ? 'connect' : 'connection');
    // Its row in the ledger must be its own before a request counts there.
    if (this.open.size === 0 && this.waiting.empty) this.endpoint.wake();
    this.waiting.enter(x);
    this.openAnother();
  }

  sendFresh(x: Exchange): void {
    this.send(x);
  }

  dropIdle(): void {
    for (const session of [...this.open]) session.retire();
  }

  /** If long streams keep those that were left before open, no more of them are than may serve. */
  keepTo(addresses: LastAddresses): void {
    const { established } = this;
    let left = this.open.size - established.length;
    for (const session of established) {
      const address = session.socket?.remoteAddress;
      if (address === undefined || addresses.has(address)) continue;
      if (++left > MAX_SESSIONS) return;
      guard(session, session.leave);
    }
  }

  collectRetryable(elsewhere: (x: Exchange) => boolean, recalled: Exchange[]): void {
    this.waiting.collectRetryable(elsewhere, recalled);
    for (const session of this.open) session.collectRetryable(elsewhere, recalled);
  }

  turnedAway(serving: number): void {
    this.streamLimit = Math.max(FEWEST_STREAMS, serving);
    this.moreAt = this.endpoint.tools.clock.monotonic() + MORE_MS;
  }

  sweep(now: number): boolean {
    if (now >= this.moreAt && this.streamLimit < MAX_STREAMS) {
      this.streamLimit *= 2;
      this.moreAt = now + MORE_MS;
    }
    for (const session of [...this.open]) {
      guard(session, session.sweep, now);
      // It may be read again, or opening another one takes long.
      if (session.turnsAway || this.mayServe(session)) this.serveWaiting(session);
    }
    for (const session of this.open) if (session.holdsOthersUp) this.readOn(session, now - UNREAD_MS);
    this.leaveWornOut();
    // A connection that is being opened has its own time limit and notifies the waiting requests of its result.
    if (!this.opening) {
      this.endUnread(now - UNREAD_MS);
      this.waiting.sweep(now);
    }
    this.openAnother();
    for (const session of this.unreadAfterwards) if (!session.isInUse) this.unreadAfterwards.delete(session);
    return this.open.size > 0 || this.unreadAfterwards.size > 0 || !this.waiting.empty;
  }

  /** A session was established, one of its streams has ended, or it takes no more requests. */
  readonly capacityChanged = (session: UpstreamSession): void => {
    if (this.mayServe(session)) this.serveWaiting(session);
    if (session === this.newest && session.established) {
      this.newest = null;
      this.leaveWornOut();
    }
    if (session.wasUseless) this.failed(session.reason);
    else this.openAnother();
  };

  private mayServe(session: UpstreamSession): boolean {
    return !session.isLastResort || !this.mayOpen;
  }

  private serveWaiting(session: UpstreamSession): void {
    while (session.hasRoom && !this.waiting.empty) {
      const x = this.waiting.next();
      if (x !== null) guardExchange(x, () => session.send(x));
    }
  }

  /** A session has closed. `failure` is why it was never established; null if it was. */
  readonly ended = (session: UpstreamSession, failure: Failure | null): void => {
    if (!this.open.delete(session)) return;
    if (session.isInUse) this.unreadAfterwards.add(session);
    if (failure !== null || session.wasUseless) this.failed(failure ?? session.reason);
    else this.openAnother();
  };

  /**
   * A session could not be opened, or ended before it took a request. Another attempt would probably fail too: if no other session is
   * established or being opened, waiting requests are retried elsewhere or fail; otherwise they wait for those, and the next attempt is made
   * a while later. An established one may have room for them, if they were to avoid it, or once its target is told of cancelled ones.
   */
  private failed(failure: Failure): void {
    for (const session of this.open) if (session.connecting) return;
    const { established } = this;
    this.tellCancellations(established);
    if (established.length === 0) this.waiting.fail(failure);
  }

  private openAnother(): void {
    const { first } = this.waiting;
    if (first === null || this.opening) return;
    const { established } = this;
    if (established.length >= MAX_SESSIONS || this.open.size >= MAX_OPEN) return this.tellCancellations(established);
    if (established.some((session) => session.admitsNone)) return this.tellCancellations(established);
    if (this.open.size === 0) this.endpoint.wake();
    const session = new UpstreamSession(this.endpoint, this, this.endpoint.connectMsFor(first));
    this.open.add(session);
    this.newest = session;
    guard(session, session.connect);
  }

  /** If no further session can be opened, requests do not wait until the target may be told of cancelled ones. */
  private tellCancellations(established: readonly UpstreamSession[]): void {
    for (const session of established) while (!this.waiting.empty && session.makeRoom()) this.serveWaiting(session);
  }

  /** As over HTTP/1.1: if no further session can be opened, the responses that have been unread for longest give way to requests that wait. */
  private endUnread(before: number): void {
    if (this.waiting.empty) return;
    const unread = this.established.flatMap((session) => session.unreadBefore(before).map((stream) => ({ session, stream })));
    for (const { session, stream } of unread.sort((a, b) => a.stream.unreadSince - b.stream.unreadSince)) {
      if (this.waiting.empty) return;
      guard(stream, stream.giveWay);
      if (session.hasRoom) this.capacityChanged(session);
    }
  }

  /** Nothing of a connection is read, also not what other clients wait for: the responses that have been unread for longest give way. */
  private readOn(session: UpstreamSession, before: number): void {
    const unread = session.unread(before).filter(({ usesWindow }) => usesWindow);
    for (const stream of unread.sort((a, b) => a.unreadSince - b.unreadSince)) {
      guard(stream, stream.giveWay);
      if (!session.isCrowded) return;
    }
  }

  /** Once there is another. */
  private leaveWornOut(): void {
    if (this.established.every((session) => session.isLastResort)) return;
    for (const session of this.established) if (session.isWornOut) guard(session, session.leave);
  }

  makeRoom(now: number): void {
    const sessions = [...this.open, ...this.unreadAfterwards];
    const unread = sessions.flatMap((session) => session.unread(now - UNREAD_MS)).sort((a, b) => a.unreadSince - b.unreadSince);
    for (const stream of unread.slice(0, Math.ceil(unread.length / 2))) guard(stream, stream.giveWay);
  }

  private get established(): UpstreamSession[] {
    return [...this.open].filter((session) => session.established);
  }

  private get mayOpen(): boolean {
    let left = MAX_SESSIONS;
    for (const session of this.open) if (!session.isDraining) left--;
    return left > 0 && this.open.size < MAX_OPEN;
  }

  private get opening(): boolean {
    for (const session of this.open) if (session.connecting) return true;
    return false;
  }

  /** One on which the target has turned a request away, or much is unread, is the last resort, if no further one may be opened. */
  private withRoom(): UpstreamSession | null {
    let last: UpstreamSession | null = null;
    for (const session of this.open) {
      if (!session.hasRoom) continue;
      if (!session.isLastResort) return session;
      if (last === null || session.unreadBytes < last.unreadBytes) last = session;
    }
    return this.mayOpen ? null : last;
  }
}
