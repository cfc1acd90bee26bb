import type { Socket } from 'node:net';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import { connectFailure, FAILURE, type Failure } from '../../exchange/failure.ts';

/**
 * A connection that takes longer (ms) to a container or pod may have been attempted while nothing had its address: the system repeats the
 * attempt after a second, and whatever has the address by then accepts it.
 */
export const SLOW_MS = 250;
/** Failures at whose end nothing had accepted a connection. */
const NOT_ACCEPTED: ReadonlySet<Failure> = new Set([FAILURE.refused, FAILURE.unreachable, FAILURE.connectTimeout]);
/** A target that stays unreachable is reported again after this time (ms). */
const AGAIN_MS = 100;

/** A socket that is connecting. */
type Attempt = Pick<Socket, 'connecting' | 'destroyed'>;

/** Notices that nothing accepts connections at the address of a target with an id, which may be given to another one. */
export class LossWatch {
  private readonly clock: Clock;
  private readonly report: () => void;
  private reportedAt = Number.NEGATIVE_INFINITY;
  /** Whether an attempt is watched, and whether another one has succeeded since it began. */
  private isWatching = false;
  private isReached = false;

  constructor(clock: Clock, report: () => void) {
    this.clock = clock;
    this.report = report;
  }

  /** A connection is attempted. */
  connecting(socket: Attempt): void {
    if (this.isWatching) return;
    this.isWatching = true;
    this.isReached = false;
    // After a long turn, timers run before sockets are polled: the connection may have been established in time.
    this.clock.after(SLOW_MS, () => void setImmediate(() => this.look(socket)));
  }

  /** One is established. */
  connected(): void {
    this.isReached = true;
  }

  /** A connection could not be established, or has failed later, as in the TLS handshake. */
  readonly broken = (cause: NodeJS.ErrnoException): void => {
    if (cause.syscall === 'connect') this.failed(connectFailure(cause));
  };

  /** A request has failed. */
  failed(failure: Failure): void {
    if (NOT_ACCEPTED.has(failure)) this.note();
  }

  /** TLS and what follows depend on the app, which may be busy; the connection itself does not. One that was given up says nothing. */
  private look({ connecting, destroyed }: Attempt): void {
    this.isWatching = false;
    if (connecting && !destroyed && !this.isReached) this.note();
  }

  private note(): void {
    const now = this.clock.monotonic();
    if (now - this.reportedAt < AGAIN_MS) return;
    this.reportedAt = now;
    this.report();
  }
}
