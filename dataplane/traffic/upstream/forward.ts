import type { Clock } from '../../../shared/runtime/clock.ts';
import { MAX_HOPS } from '../codec/hops.ts';
import { answer } from '../exchange/answer.ts';
import type { Progress } from '../exchange/attempt.ts';
import type { Exchange, PassiveHealth, Upstream } from '../exchange/exchange.ts';
import { FAILURE, type Failure, noTargetAvailable } from '../exchange/failure.ts';
import type { Faults } from '../exchange/faults.ts';
import type { Limits } from '../exchange/limits.ts';
import type { NamedEndpoint } from '../exchange/named-endpoint.ts';
import { LAST_HOP, LOOP, NO_TRACE } from '../exchange/own-answer.ts';
import type { Responder } from '../exchange/responder.ts';
import { explainPool } from './explain.ts';
import { blame } from './health/verdict.ts';
import type { Hold } from './hold.ts';
import { endsHere } from './max-forwards.ts';
import type { Pool } from './pool/pool.ts';
import { RequestQueue } from './pool/request-queue.ts';
import { IDEMPOTENT, isStale, isWithin, mayRetry, REFUSALS, type RetryRules } from './retry/retry.ts';
import { RetryBudget } from './retry/retry-budget.ts';
import type { Endpoint } from './target/endpoint.ts';
import { limitTime } from './time-limit.ts';

/** How many targets below their limit are tried for a request before it waits. */
const MAX_PICKS = 16;

export type ForwardTools = {
  readonly faults: Faults;
  readonly clock: Clock;
  /** Holds requests that find no target. */
  readonly hold: Hold;
};

/** Forwards the exchanges of a block to a target of its pool, retries on another target if allowed, or answers with the failure. */
export class Forwarder implements Responder, Upstream {
  readonly pool: Pool;
  readonly limits: Limits;
  readonly passive: PassiveHealth;
  readonly http2: boolean;
  private readonly holdMs: number;
  private readonly retries: RetryRules;
  private readonly budget: RetryBudget;
  /** Where requests wait for a target below its limit; null without limit or queue. */
  private readonly queue: RequestQueue | null;
  private readonly tools: ForwardTools;
  private readonly attempt: (x: Exchange) => void;

  /** `holdMs` is how long a request waits when the pool has no target for it; 0 is not at all. */
  constructor(pool: Pool, holdMs: number, tools: ForwardTools) {
    this.pool = pool;
    this.limits = pool.limits;
    this.passive = pool.passive;
    this.http2 = pool.http2;
    this.retries = pool.retries;
    this.budget = new RetryBudget(pool.retries.budgetPercent);
    this.queue = pool.maxQueued === 0 ? null : new RequestQueue(pool, pool.maxQueued, pool.queueMs, tools);
    this.holdMs = holdMs;
    this.tools = tools;
    const { wholeMs } = this.limits;
    this.attempt =
      wholeMs === Number.POSITIVE_INFINITY
        ? (x) => this.send(x)
        : (x) => {
            limitTime(x, wholeMs, tools.clock);
            this.send(x);
          };
  }

  respond(x: Exchange): void {
    if (endsHere(x.upstreamMethod, x.fields)) return answer(x, x.method === 'TRACE' ? NO_TRACE : LAST_HOP);
    if (x.hops > MAX_HOPS) return answer(x, LOOP);
    x.upstream = this;
    x.affinityLine = '';
    this.budget.request(x.startedAt);
    if (x.bodyComplete) this.attempt(x);
    else x.client.bufferBody(x, this.attempt);
  }

  explain(now: number): { readonly answeredBy: null; readonly words: string } {
    return { answeredBy: null, words: explainPool(this.pool, this.holdMs, now) };
  }

  /** Picks a target and sends the request there. */
  private send(x: Exchange): void {
    if (this.pool.maxInFlight > 0) return this.sendWithinLimit(x);
    const endpoint = this.pool.pick(this.tools.clock.now(), x) ?? this.drainingTarget(x);
    if (endpoint === null) return this.holdOrGiveUp(x, x.lastFailure ?? FAILURE.noTarget);
    this.sendTo(endpoint, x);
  }

  private sendWithinLimit(x: Exchange): void {
    const { pool, queue } = this;
    if (queue?.precedes(x)) return this.wait(x);
    // Another worker may take the last free place at each of them.
    for (let tries = 0; tries < MAX_PICKS; tries++) {
      const endpoint = pool.pick(this.tools.clock.now(), x);
      if (endpoint === null) break;
      const reserved = endpoint.reserve(pool.maxInFlight);
      if (reserved === null) continue;
      try {
        return this.sendTo(endpoint, x);
      } finally {
        endpoint.release(reserved);
      }
    }
    if (pool.isBusy(x)) return this.wait(x);
    const draining = this.drainingTarget(x);
    if (draining === null) this.holdOrGiveUp(x, x.lastFailure ?? FAILURE.noTarget);
    else this.sendTo(draining, x);
  }

  /** Waits until a target has room, if there is a queue. */
  private wait(x: Exchange): void {
    this.pool.foundFull();
    if (this.queue === null) this.giveUp(x, FAILURE.atLimit);
    else if (!this.queue.enter(x)) this.giveUp(x, FAILURE.limitQueueFull);
  }

  private sendTo(endpoint: Endpoint, x: Exchange): void {
    x.endpoint = endpoint;
    x.trace?.spans?.attemptBegun(endpoint);
    endpoint.send(x);
  }

  /** If requests may be held, they wait for the next target rather than go to one that is draining. */
  private drainingTarget({ tried }: Exchange): Endpoint | null {
    return this.holdMs > 0 ? null : this.pool.pickDraining(tried);
  }

  retry(x: Exchange): void {
    this.send(x);
  }

  failed(x: Exchange, endpoint: Endpoint, failure: Failure, progress: Progress): void {
    x.trace?.spans?.attemptOver(failure);
    const stale = isStale(x, failure, progress);
    if (!stale) blame(x, endpoint, failure, progress.written);
    const isDecided = failure === FAILURE.retriedStatus;
    if (!isDecided && !mayRetry(x, progress)) return this.giveUp(x, failure);
    // An idle connection that was closed meanwhile says nothing about the target's health: retry on a fresh one.
    if (stale) {
      x.resent++;
      x.trace?.spans?.attemptBegun(endpoint);
      return endpoint.sendFresh(x);
    }
    if (failure === FAILURE.headTimeout) return this.giveUp(x, failure);
    // A target that failed after a write says more than one that was never reached, unless it was known to be shutting down.
    if (x.lastFailure === null || noTargetAvailable(x.lastFailure))
      x.lastFailure = failure === FAILURE.closed && endpoint.leaving ? FAILURE.ended : failure;
    x.tried ??= [];
    x.tried.push(endpoint);
    if (REFUSALS.has(failure)) x.refusals++;
    // A request that no target has received adds nothing to their load.
    const isFree = isDecided || !progress.written;
    const mayRepeat = isWithin(this.retries, x.tried.length, x.refusals);
    if (mayRepeat && (isFree || this.budget.spend())) this.send(x);
    else if (mayRepeat || noTargetAvailable(x.lastFailure)) this.holdOrGiveUp(x, x.lastFailure);
    else this.giveUp(x, x.lastFailure);
  }

  retriesStatus(x: Exchange, endpoint: NamedEndpoint, status: number): boolean {
    const { statuses, maxRetries } = this.retries;
    if (statuses === null || !statuses.has(status) || x.bodyConsumed || !IDEMPOTENT.has(x.upstreamMethod)) return false;
    return (x.tried?.length ?? 0) < maxRetries && this.pool.hasOther(endpoint, x, this.tools.clock.now()) && this.budget.spend();
  }

  /** Also applies to requests that a target accepted and dropped, as it does when shutting down: the next one may answer. */
  private holdOrGiveUp(x: Exchange, failure: Failure): void {
    const mayWait = noTargetAvailable(failure) || failure === FAILURE.closed;
    const { hold } = this.tools;
    if (!mayWait || (!hold.serveByNewestTable(x, this.pool, failure) && !hold.enter(x, this, this.holdMs, failure)))
      this.giveUp(x, failure);
  }

  giveUp(x: Exchange, failure: Failure): void {
    x.lastFailure = failure;
    answer(x, { status: failure.status, fields: failure.status === 503 ? 'Retry-After: 1\r\n' : '', body: null, reason: failure.reason });
  }
}
