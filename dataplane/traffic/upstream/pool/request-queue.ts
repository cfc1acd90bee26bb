import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { FAILURE } from '../../exchange/failure.ts';
import { type Faults, guardExchange } from '../../exchange/faults.ts';
import { giveUpLater, retryLater, serveLater } from '../../exchange/later.ts';
import { WaitingAttempt } from '../../exchange/waiting-attempt.ts';
import type { Pool } from './pool.ts';

/** How often to check whether requests have ended in other workers (ms). */
const POLL_MS = 10;

export type QueueTools = { readonly clock: Clock; readonly faults: Faults };

/** The requests of one worker that wait until a target of their pool is below its limit, in order of arrival. */
export class RequestQueue {
  private readonly pool: Pool;
  private readonly tools: QueueTools;
  private readonly maxWaiting: number;
  private readonly waitMs: number;
  private waiting: Set<QueuedRequest> = new Set();
  private stopPolling: (() => void) | null = null;
  /** The request that is leaving the queue. */
  private leaving: QueuedRequest | null = null;

  /** At most `maxWaiting` requests wait at a time, each for up to `waitMs`. */
  constructor(pool: Pool, maxWaiting: number, waitMs: number, tools: QueueTools) {
    this.pool = pool;
    this.tools = tools;
    this.maxWaiting = maxWaiting;
    this.waitMs = waitMs;
  }

  /** Whether a request has to wait behind others: not behind those that wait only for other targets, because all the rest have failed them. */
  precedes(x: Exchange): boolean {
    if (this.leaving?.x === x) return false;
    for (const { x: other } of this.waiting) if (other.tried === null || this.pool.hasRoom(other)) return true;
    return false;
  }

  /** @returns false if too many wait already. */
  enter(x: Exchange): boolean {
    const { leaving } = this;
    if (this.stopPolling === null) this.watch();
    // Another worker was faster: it keeps its place and its time.
    if (leaving?.x === x) this.waiting = new Set([leaving, ...this.waiting]);
    else if (this.waiting.size >= this.maxWaiting) return false;
    const waiting = leaving?.x === x ? leaving : new QueuedRequest(x, this.tools.clock.monotonic() + this.waitMs, this.leave);
    this.waiting.add(waiting);
    x.attempt = waiting;
    x.trace?.spans?.held();
    return true;
  }

  /** Sends waiting requests for as long as a target has room, and ends those that have waited too long. */
  private readonly poll = (): void => this.tools.faults.step(() => this.send());

  private send(): void {
    if (this.waiting.size === 0) return this.unwatch();
    const { clock } = this.tools;
    const now = clock.monotonic();
    for (const waiting of this.waiting) {
      const expired = now >= waiting.until;
      if (!expired && !this.pool.closed && !this.pool.hasRoom(waiting.x)) {
        this.pool.foundFull();
        // If there is no room for a request that may go to any target, there is none for those behind it.
        if (waiting.x.tried === null) return;
        continue;
      }
      this.leave(waiting);
      waiting.x.attempt = null;
      if (expired) giveUpLater(waiting.x, FAILURE.limitTimeout);
      else guardExchange(waiting.x, () => this.resume(waiting));
      if (this.waiting.has(waiting)) return;
    }
  }

  private resume(waiting: QueuedRequest): void {
    const { x } = waiting;
    // A newer table may have other targets for it.
    if (this.pool.closed) return serveLater(x);
    this.leaving = waiting;
    retryLater(x);
    this.leaving = null;
  }

  private readonly leave = (waiting: QueuedRequest): void => {
    this.waiting.delete(waiting);
  };

  private watch(): void {
    for (const endpoint of this.pool.endpoints) endpoint.awaitEnds(this.poll);
    this.stopPolling = this.tools.clock.every(POLL_MS, this.poll);
  }

  private unwatch(): void {
    this.stopPolling?.();
    this.stopPolling = null;
    for (const endpoint of this.pool.endpoints) endpoint.awaitEnds(this.poll, false);
  }
}

/** A request in the queue. */
class QueuedRequest extends WaitingAttempt {
  readonly x: Exchange;
  /** Milliseconds on the monotonic clock. */
  readonly until: number;
  private readonly left: (waiting: QueuedRequest) => void;

  constructor(x: Exchange, until: number, left: (waiting: QueuedRequest) => void) {
    super();
    this.x = x;
    this.until = until;
    this.left = left;
  }

  cancel(): void {
    this.left(this);
  }
}
