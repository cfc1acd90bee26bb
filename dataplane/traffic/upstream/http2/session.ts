import { type ClientHttp2Session, connect as connectHttp2, constants, type Settings } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { openSession } from '../../../../shared/runtime/http2-session.ts';
import { RESPONSE_HEADER_BYTES } from '../../../../shared/transport.ts';
import { ResponseHead } from '../../codec/http1/response-head.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { FAILURE, type Failure } from '../../exchange/failure.ts';
import { guard, guarded } from '../../exchange/faults.ts';
import { connectTo } from '../connect.ts';
import type { Endpoint } from '../endpoint.ts';
import { linesFor } from '../limits.ts';
import { type StreamOwner, UpstreamStream } from './stream.ts';

/** Without a stream for this long the session ends (ms). A target that ends it sooner says so first (RFC 9113 9.1). */
const IDLE_MS = 30_000;
/** Streams at a time, whatever the target allows; more get a session of their own. */
const MAX_STREAMS = 1_000;
/** Requests after which a session makes way for a new one: stream identifiers are not used again (RFC 9113 5.1.1). */
const MAX_SERVED = 1_000_000;
/** Silence after which TCP asks whether the other end is still there (ms): a call that waits may be silent for hours. */
const KEEP_ALIVE_MS = 30_000;

/** What any route may allow for a head; each exchange is held to its own. A line counts 32 bytes more than it has (RFC 9113 6.5.2). */
const { most: MOST_BYTES } = RESPONSE_HEADER_BYTES;
const MOST_LINES = linesFor(MOST_BYTES) + 1;
const SETTINGS: Settings = { enablePush: false, initialWindowSize: 262_144, maxHeaderListSize: MOST_BYTES + 32 * MOST_LINES };
/** Bytes that all streams of a session may have on their way to us. */
const SESSION_WINDOW = 4_194_304;
const BOUNDS = {
  maxHeaderListPairs: MOST_LINES + 1,
  maxReservedRemoteStreams: 0,
  maxSessionInvalidFrames: 20,
  maxSettings: 32,
  strictSingleValueFields: false,
};

/** Who a session belongs to. */
export type SessionOwner = {
  /** It can take a request, or can no more. */
  roomChanged(session: Session): void;
  /** It is gone, with all of its streams; `failure` says why where it never stood. */
  ended(session: Session, failure: Failure | null): void;
};

/** One connection to a target on which many exchanges are under way (RFC 9113). */
export class Session implements StreamOwner {
  readonly endpoint: Endpoint;
  /** Reads one answer's head after the other. */
  readonly head = new ResponseHead();
  private readonly owner: SessionOwner;
  private readonly streams = new Set<UpstreamStream>();
  private state: 'connecting' | 'standing' | 'leaving' | 'closed' = 'connecting';
  private socket: Socket | null = null;
  private http2: ClientHttp2Session | null = null;
  private most = MAX_STREAMS;
  private readonly connectMs: number;
  private deadline: number;
  private giveUp: () => void = () => undefined;
  /** Exchanges that it has brought to an answer. */
  private served = 0;
  /** Why it broke, where the target broke the rules; null otherwise. */
  private broken: Failure | null = null;

  /** `connectMs` is how long it may take to stand. */
  constructor(endpoint: Endpoint, owner: SessionOwner, connectMs: number) {
    this.endpoint = endpoint;
    this.connectMs = connectMs;
    this.owner = owner;
    this.deadline = endpoint.tools.clock.monotonic() + connectMs;
  }

  get connecting(): boolean {
    return this.state === 'connecting';
  }

  get standing(): boolean {
    return this.state === 'standing';
  }

  /** Whether its connection stands. The library ends the streams of a session that broke before it tells that it did. */
  get alive(): boolean {
    return this.http2 !== null && !this.http2.closed && !this.http2.destroyed && this.socket?.destroyed === false;
  }

  /** Whether it takes a request at once. */
  get room(): boolean {
    return this.state === 'standing' && this.alive && this.streams.size < this.most;
  }

  /** Opens it. The owner is told how that ended, perhaps before this returns. */
  connect(): void {
    this.giveUp = connectTo(
      this.endpoint,
      this.connectMs,
      { alpn: 'h2' },
      (socket) => {
        this.socket = socket;
        guard(this, this.greet, socket);
      },
      (failure) => guard(this, this.end, failure),
    );
  }

  private greet(socket: Socket | TLSSocket): void {
    const { serverName } = this.endpoint;
    if (serverName !== null && (!('alpnProtocol' in socket) || socket.alpnProtocol !== 'h2')) {
      socket.destroy();
      return this.end(FAILURE.noHttp2);
    }
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    // Each request names its authority itself; a URL would not take every name that a resolver does.
    const http2 = openSession(socket, () =>
      connectHttp2('http://localhost', { createConnection: () => socket, settings: SETTINGS, ...BOUNDS }),
    );
    this.http2 = http2;
    http2.once(
      'connect',
      guarded(this, () => http2.setLocalWindowSize(SESSION_WINDOW)),
    );
    // Whoever speaks HTTP/2 says so first with its settings (RFC 9113 3.4): what it takes is known before it is asked.
    http2.on('remoteSettings', (settings) => guard(this, this.agreed, settings));
    http2.on('goaway', () => guard(this, this.leave));
    http2.on(
      'stream',
      guarded(this, (pushed) => pushed.close(constants.NGHTTP2_REFUSED_STREAM)),
    );
    const broke = (): void => {
      this.broken = this.connecting ? FAILURE.noHttp2 : FAILURE.malformed;
    };
    http2.on('error', broke);
    socket.on('error', broke);
    http2.on('close', () => guard(this, this.end, this.connecting ? (this.broken ?? FAILURE.closed) : null));
  }

  private agreed({ maxConcurrentStreams = MAX_STREAMS }: Settings): void {
    this.most = Math.min(maxConcurrentStreams, MAX_STREAMS);
    if (this.connecting) {
      this.state = 'standing';
      this.rest();
      this.endpoint.tools.connected(this.endpoint);
    }
    this.owner.roomChanged(this);
  }

  send(x: Exchange): void {
    const { http2 } = this;
    if (http2 === null) throw new Error('a session that does not stand takes no request');
    const stream = new UpstreamStream(this, x);
    this.streams.add(stream);
    stream.begin(http2);
  }

  /** One of its streams is over. */
  over(stream: UpstreamStream, answered: boolean): void {
    if (!this.streams.delete(stream)) return;
    if (answered && ++this.served >= MAX_SERVED) this.leave();
    this.rest();
    if (this.room) this.owner.roomChanged(this);
    if (this.endpoint.leaving) this.retire();
  }

  private rest(): void {
    this.deadline = this.endpoint.tools.clock.monotonic() + IDLE_MS;
  }

  /** Whether an exchange has been answered on it: one that finds it gone had bad luck, and says nothing about the target. */
  get proven(): boolean {
    return this.served > 0;
  }

  /** Whether the target has said that it will answer no more than what it has begun (RFC 9113 6.8). */
  get departing(): boolean {
    return this.state === 'leaving';
  }

  /** Why its streams end when it does. */
  get reason(): Failure {
    return this.broken ?? FAILURE.closed;
  }

  /** Ends it where nothing is under way. */
  retire(): void {
    if (this.state === 'standing' && this.streams.size === 0) this.destroy();
  }

  /** Takes no more; what is under way is finished. */
  private leave(): void {
    if (this.state !== 'standing') return;
    this.state = 'leaving';
    this.http2?.close();
    this.owner.roomChanged(this);
  }

  private destroy(): void {
    this.http2?.destroy();
    this.end(null);
  }

  /** Nothing that it knows is to be relied on any more: its streams end with it, and the library tells them so. */
  broke(error: unknown): void {
    const { endpoint, http2, socket, connecting } = this;
    const { faults } = endpoint.tools;
    faults.note('connection', error, { target: endpoint.address });
    faults.step(() => http2?.destroy());
    faults.step(() => socket?.destroy());
    faults.step(() => this.end(connecting ? FAILURE.fault : null));
    faults.step(() => this.owner.ended(this, connecting ? FAILURE.fault : null));
  }

  /** `failure` is told to those who wait for it to stand. */
  private end(failure: Failure | null): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.giveUp();
    this.owner.ended(this, failure);
  }

  recall(elsewhere: (x: Exchange) => boolean, recalled: Exchange[]): void {
    for (const { recallable: x } of this.streams) if (x !== null && elsewhere(x)) recalled.push(x);
  }

  /** Enforces the time limits of it and of its streams. */
  sweep(now: number): void {
    for (const stream of [...this.streams]) guard(stream, stream.sweep, now);
    if (now < this.deadline || this.streams.size > 0) return;
    if (this.state === 'standing') return this.destroy();
    if (!this.connecting) return;
    // A socket that stands and says nothing. While there is none, the limit is that of whoever opens it.
    if (this.http2 === null) return;
    this.http2.destroy();
    this.end(FAILURE.connectTimeout);
  }
}
