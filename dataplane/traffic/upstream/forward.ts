import type { Clock } from '../../../shared/runtime/clock.ts';
import { MOST_HOPS } from '../codec/hops.ts';
import { answer } from '../exchange/answer.ts';
import type { Progress } from '../exchange/attempt.ts';
import type { Exchange, Upstream } from '../exchange/exchange.ts';
import { FAILURE, type Failure, noTargetAvailable } from '../exchange/failure.ts';
import type { Limits } from '../exchange/limits.ts';
import { LAST_HOP, LOOP, NO_TRACE } from '../exchange/own-answer.ts';
import type { Responder } from '../exchange/responder.ts';
import type { Endpoint } from './endpoint.ts';
import { explainPool } from './explain.ts';
import type { Hold } from './hold.ts';
import { endsHere } from './max-forwards.ts';
import type { Pool } from './pool.ts';
import { mayRetry } from './retry.ts';

export type ForwardTools = {
  readonly clock: Clock;
  /** Holds requests that find no target. */
  readonly hold: Hold;
};

/** Forwards the exchanges of a block to a target of its pool, retries on another target if allowed, or answers with the failure. */
export class Forwarder implements Responder, Upstream {
  readonly pool: Pool;
  readonly limits: Limits;
  private readonly holdMs: number;
  private readonly tools: ForwardTools;
  private readonly attempt: (x: Exchange) => void;

  /** `holdMs` is how long a request waits when the pool has no target for it; 0 is not at all. */
  constructor(pool: Pool, holdMs: number, tools: ForwardTools) {
    this.pool = pool;
    this.limits = pool.limits;
    this.holdMs = holdMs;
    this.tools = tools;
    this.attempt = (x) => this.send(x);
  }

  respond(x: Exchange): void {
    if (endsHere(x.upstreamMethod, x.fields)) return answer(x, x.method === 'TRACE' ? NO_TRACE : LAST_HOP);
    if (x.hops > MOST_HOPS) return answer(x, LOOP);
    x.upstream = this;
    x.affinityLine = '';
    if (x.bodyComplete) this.send(x);
    else x.client.bufferBody(x, this.attempt);
  }

  explain(now: number): { readonly answeredBy: null; readonly words: string } {
    return { answeredBy: null, words: explainPool(this.pool, this.holdMs, now) };
  }

  /** Picks a target and sends the request there. */
  private send(x: Exchange): void {
    const endpoint = this.pool.pick(this.tools.clock.now(), x) ?? this.leaving(x);
    if (endpoint === null) return this.holdOrGiveUp(x, x.lastFailure ?? FAILURE.noTarget);
    x.endpoint = endpoint;
    x.trace?.spans?.attemptBegun(endpoint);
    endpoint.send(x);
  }

  /** If requests may be held, they wait for the next target rather than go to one that is shutting down. */
  private leaving({ tried }: Exchange): Endpoint | null {
    return this.holdMs > 0 ? null : this.pool.pickLeaving(tried);
  }

  retry(x: Exchange): void {
    this.send(x);
  }

  failed(x: Exchange, endpoint: Endpoint, failure: Failure, progress: Progress): void {
    x.trace?.spans?.attemptOver(failure);
    const stale = progress.reused && !progress.answered && failure === FAILURE.closed;
    if (!stale) endpoint.blame(failure);
    if (!mayRetry(x, progress)) return this.giveUp(x, failure);
    // An idle connection that was closed meanwhile says nothing about the target's health: retry on a fresh one.
    if (stale) {
      x.trace?.spans?.attemptBegun(endpoint);
      return endpoint.sendFresh(x);
    }
    if (failure === FAILURE.headTimeout) return this.giveUp(x, failure);
    // A target that broke off after a write is more telling than one that was never reached, unless it was known to be shutting down.
    if (x.lastFailure === null || noTargetAvailable(x.lastFailure))
      x.lastFailure = failure === FAILURE.closed && endpoint.leaving ? FAILURE.ended : failure;
    x.tried ??= [];
    x.tried.push(endpoint);
    if (x.tried.length <= this.pool.retries) this.send(x);
    else if (noTargetAvailable(x.lastFailure)) this.holdOrGiveUp(x, x.lastFailure);
    else this.giveUp(x, x.lastFailure);
  }

  /** Also applies to requests that a target accepted and dropped, as it does when shutting down: the next one may answer. */
  private holdOrGiveUp(x: Exchange, failure: Failure): void {
    const mayWait = noTargetAvailable(failure) || failure === FAILURE.closed;
    if (!mayWait || !this.tools.hold.enter(x, this, this.holdMs, failure)) this.giveUp(x, failure);
  }

  giveUp(x: Exchange, failure: Failure): void {
    x.lastFailure = failure;
    answer(x, { status: failure.status, fields: failure.status === 503 ? 'Retry-After: 1\r\n' : '', body: null, reason: failure.reason });
  }
}
