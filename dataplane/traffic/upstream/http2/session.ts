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

/** A session without streams is closed after this time (ms). A target that closes it sooner announces that first (RFC 9113 9.1). */
const IDLE_MS = 30_000;
/** The most concurrent streams of a session, even if the target allows more. Further requests use another session. */
const MAX_STREAMS = 1_000;
/** After this many requests a session is replaced by a new one, because stream identifiers are never reused (RFC 9113 5.1.1). */
const MAX_SERVED = 1_000_000;
/** After this much silence TCP keep-alive checks the connection (ms), because an open call may be silent for hours. */
const KEEP_ALIVE_MS = 30_000;

/**
 * The largest head that any route may allow; each exchange has its own limit. Each field line counts 32 bytes more than its length (RFC
 * 9113 6.5.2).
 */
const { most: MOST_BYTES } = RESPONSE_HEADER_BYTES;
const MOST_LINES = linesFor(MOST_BYTES) + 1;
const SETTINGS: Settings = { enablePush: false, initialWindowSize: 262_144, maxHeaderListSize: MOST_BYTES + 32 * MOST_LINES };
/** The receive window for all streams of a session (bytes). */
const SESSION_WINDOW = 4_194_304;
const BOUNDS = {
  maxHeaderListPairs: MOST_LINES + 1,
  maxReservedRemoteStreams: 0,
  maxSessionInvalidFrames: 20,
  maxSettings: 32,
  strictSingleValueFields: false,
};

/** The owner of a session. */
export type SessionOwner = {
  /** The session can take a request now, or can no longer. */
  capacityChanged(session: Session): void;
  /** The session has closed with all of its streams. `failure` is why it was never established; null if it was. */
  ended(session: Session, failure: Failure | null): void;
};

/** One HTTP/2 connection to a target with many concurrent exchanges (RFC 9113). */
export class Session implements StreamOwner {
  readonly endpoint: Endpoint;
  /** Reads one response head after the other. */
  readonly head = new ResponseHead();
  private readonly owner: SessionOwner;
  private readonly streams = new Set<UpstreamStream>();
  private state: 'connecting' | 'open' | 'draining' | 'closed' = 'connecting';
  private socket: Socket | null = null;
  private http2: ClientHttp2Session | null = null;
  private most = MAX_STREAMS;
  private readonly connectMs: number;
  private deadline: number;
  private giveUp: () => void = () => undefined;
  /** How many exchanges it has completed. */
  private served = 0;
  /** Why it failed, if the target violated the protocol; else null. */
  private broken: Failure | null = null;

  /** `connectMs` is the time limit for establishing it. */
  constructor(endpoint: Endpoint, owner: SessionOwner, connectMs: number) {
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

  /** Whether its connection is open. When a session fails, the library closes its streams before it emits the session's error. */
  get alive(): boolean {
    return this.http2 !== null && !this.http2.closed && !this.http2.destroyed && this.socket?.destroyed === false;
  }

  /** Whether it can take a request at once. */
  get hasRoom(): boolean {
    return this.state === 'open' && this.alive && this.streams.size < this.most;
  }

  /** Opens it. The owner is notified of the result, perhaps before this returns. */
  connect(): void {
    this.giveUp = connectTo(
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
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    // Each request sends its own :authority. A real URL here would not accept every name that a resolver does.
    const http2 = openSession(socket, () =>
      connectHttp2('http://localhost', { createConnection: () => socket, settings: SETTINGS, ...BOUNDS }),
    );
    this.http2 = http2;
    http2.once(
      'connect',
      guarded(this, () => http2.setLocalWindowSize(SESSION_WINDOW)),
    );
    // A server sends its SETTINGS first (RFC 9113 3.4), so its limits are known before the first request.
    http2.on('remoteSettings', (settings) => guard(this, this.settingsReceived, settings));
    http2.on('goaway', () => guard(this, this.leave));
    http2.on(
      'stream',
      guarded(this, (pushed) => pushed.close(constants.NGHTTP2_REFUSED_STREAM)),
    );
    const failed = (): void => {
      this.broken = this.connecting ? FAILURE.noHttp2 : FAILURE.malformed;
    };
    http2.on('error', failed);
    socket.on('error', failed);
    http2.on('close', () => guard(this, this.end, this.connecting ? (this.broken ?? FAILURE.closed) : null));
  }

  private settingsReceived({ maxConcurrentStreams = MAX_STREAMS }: Settings): void {
    this.most = Math.min(maxConcurrentStreams, MAX_STREAMS);
    if (this.connecting) {
      this.state = 'open';
      this.rest();
      this.endpoint.tools.connected(this.endpoint);
    }
    this.owner.capacityChanged(this);
  }

  send(x: Exchange): void {
    const { http2 } = this;
    if (http2 === null) throw new Error('a session takes no request before it is established');
    const stream = new UpstreamStream(this, x);
    this.streams.add(stream);
    stream.begin(http2);
  }

  /** One of its streams has ended. */
  over(stream: UpstreamStream, answered: boolean): void {
    if (!this.streams.delete(stream)) return;
    if (answered && ++this.served >= MAX_SERVED) this.leave();
    this.rest();
    if (this.hasRoom) this.owner.capacityChanged(this);
    if (this.endpoint.leaving) this.retire();
  }

  private rest(): void {
    this.deadline = this.endpoint.tools.clock.monotonic() + IDLE_MS;
  }

  /** Whether it has completed an exchange. If so, its loss says nothing about the health of the target. */
  get hasServed(): boolean {
    return this.served > 0;
  }

  /** Whether the target has sent GOAWAY, so that it only completes the open streams (RFC 9113 6.8). */
  get isDraining(): boolean {
    return this.state === 'draining';
  }

  /** The failure of its streams if it ends. */
  get reason(): Failure {
    return this.broken ?? FAILURE.closed;
  }

  /** Closes it if no stream is open. */
  retire(): void {
    if (this.state === 'open' && this.streams.size === 0) this.destroy();
  }

  /** Takes no more requests; open streams are completed. */
  private leave(): void {
    if (this.state !== 'open') return;
    this.state = 'draining';
    this.http2?.close();
    this.owner.capacityChanged(this);
  }

  private destroy(): void {
    this.http2?.destroy();
    this.end(null);
  }

  /** Its state can't be trusted any more: ends it, and the library closes its streams. */
  onFault(error: unknown): void {
    const { endpoint, http2, socket, connecting } = this;
    const { faults } = endpoint.tools;
    faults.note('connection', error, { target: endpoint.address });
    faults.step(() => http2?.destroy());
    faults.step(() => socket?.destroy());
    faults.step(() => this.end(connecting ? FAILURE.fault : null));
    faults.step(() => this.owner.ended(this, connecting ? FAILURE.fault : null));
  }

  /** `failure` is passed to the requests that wait for it. */
  private end(failure: Failure | null): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.giveUp();
    this.owner.ended(this, failure);
  }

  collectRetryable(elsewhere: (x: Exchange) => boolean, recalled: Exchange[]): void {
    for (const { retryable: x } of this.streams) if (x !== null && elsewhere(x)) recalled.push(x);
  }

  /** Enforces its time limits and those of its streams. */
  sweep(now: number): void {
    for (const stream of [...this.streams]) guard(stream, stream.sweep, now);
    if (now < this.deadline || this.streams.size > 0) return;
    if (this.state === 'open') return this.destroy();
    if (!this.connecting) return;
    // The connection is established but the target is silent. Before that, `connectTo` enforces the limit.
    if (this.http2 === null) return;
    this.http2.destroy();
    this.end(FAILURE.connectTimeout);
  }
}
