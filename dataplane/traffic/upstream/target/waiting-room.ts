import { NOTHING_SENT } from '../../exchange/attempt.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { FAILURE, type Failure } from '../../exchange/failure.ts';
import { attemptFailed } from '../../exchange/later.ts';
import { WaitingAttempt } from '../../exchange/waiting-attempt.ts';
import type { Endpoint } from './endpoint.ts';

/** The maximum number of requests that wait for a connection to one target; more are answered with 503. */
const MAX_WAITING = 1_024;
/** How long a client must have read nothing (ms) before its response ends because no connection is free and others need one. */
export const UNREAD_MS = 10_000;
/** How long a request waits there (ms); the connect timeout applies if it is longer. */
const QUEUE_MS = 5_000;

/** Requests that wait for a connection to their target, in order of arrival. */
export class WaitingRoom {
  private readonly endpoint: Endpoint;
  private readonly queue: WaitingRequest[] = [];

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint;
  }

  get empty(): boolean {
    return this.queue.length === 0;
  }

  /** Queues a request, or fails it if `maxWaiting` are waiting already. */
  enter(x: Exchange, maxWaiting = MAX_WAITING): void {
    const { tools } = this.endpoint;
    const waits = Math.max(QUEUE_MS, this.endpoint.connectMsFor(x));
    if (this.queue.length < maxWaiting) this.queue.push(new WaitingRequest(this.queue, this.endpoint, x, tools.clock.monotonic() + waits));
    else attemptFailed(x, this.endpoint, FAILURE.queueFull, NOTHING_SENT);
  }

  /** The request that has waited longest; null if none waits. */
  get first(): Exchange | null {
    return this.queue[0]?.x ?? null;
  }

  /** Removes and returns the request that has waited longest; null if none waits. */
  next(): Exchange | null {
    return this.queue.shift()?.left() ?? null;
  }

  /** Adds those that `elsewhere` accepts. They stay until they are cancelled. */
  collectRetryable(elsewhere: (x: Exchange) => boolean, recalled: Exchange[]): void {
    for (const { x } of [...this.queue]) if (elsewhere(x)) recalled.push(x);
  }

  /** Fails all requests that wait now. */
  fail(failure: Failure): void {
    for (const waiting of this.queue.splice(0)) {
      const x = waiting.left();
      x.attempt = null;
      attemptFailed(x, this.endpoint, failure, NOTHING_SENT);
    }
  }

  /** Fails the requests that have waited too long. */
  sweep(now: number): void {
    while (this.queue[0] !== undefined && now >= this.queue[0].until) {
      const late = this.queue.shift();
      if (late !== undefined) attemptFailed(late.left(), this.endpoint, FAILURE.queueTimeout, NOTHING_SENT);
    }
  }
}

/** A request in the queue of an endpoint, where it counts as in flight. Nothing of it has been sent. */
class WaitingRequest extends WaitingAttempt {
  readonly x: Exchange;
  /** Milliseconds on the monotonic clock. */
  readonly until: number;
  private readonly queue: WaitingRequest[];
  private readonly endpoint: Endpoint;
  private readonly ledgerSlot: number;

  constructor(queue: WaitingRequest[], endpoint: Endpoint, x: Exchange, until: number) {
    super();
    this.queue = queue;
    this.endpoint = endpoint;
    this.ledgerSlot = endpoint.begin();
    this.until = until;
    this.x = x;
    x.attempt = this;
  }

  /** It is no longer in the queue. */
  left(): Exchange {
    this.endpoint.end(this.ledgerSlot);
    return this.x;
  }

  cancel(): void {
    const at = this.queue.indexOf(this);
    if (at < 0) return;
    this.queue.splice(at, 1);
    this.left();
  }
}
