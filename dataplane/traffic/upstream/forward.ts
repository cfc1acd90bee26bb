import type { Clock } from '../../../shared/runtime/clock.ts';
import { answer } from '../exchange/answer.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { FAILURE, type Failure, foundNobody } from '../exchange/failure.ts';
import type { Endpoint } from './endpoint.ts';
import type { Hold } from './hold.ts';
import type { Pool } from './pool.ts';
import { MAX_TARGETS, type Progress, repeatable } from './retry.ts';

/** Brings an exchange to a target of its pool, to another one if that may be, and else says why not. */
export class Forwarder {
  private readonly clock: Clock;
  private readonly hold: () => Hold;
  private readonly tunnel: (x: Exchange, endpoint: Endpoint) => void;
  private readonly begin: (x: Exchange) => void;

  /** `hold` is where requests wait that find no target; `tunnel` takes those that ask for another protocol. */
  constructor(clock: Clock, hold: () => Hold, tunnel: (x: Exchange, endpoint: Endpoint) => void) {
    this.clock = clock;
    this.hold = hold;
    this.tunnel = tunnel;
    this.begin = (x) => this.attempt(x);
  }

  forward(x: Exchange, pool: Pool): void {
    x.pool = pool;
    if (x.bodyComplete) this.attempt(x);
    else x.client.takeBody(x, this.begin);
  }

  /** Picks a target and sends the request there. */
  attempt(x: Exchange): void {
    const endpoint = x.pool?.pick(this.clock.now(), x.tried) ?? this.leaving(x);
    if (endpoint === null) return this.holdOrGiveUp(x, x.lastFailure ?? FAILURE.noTarget);
    x.endpoint = endpoint;
    // HTTP/2 has no upgrades (RFC 9113 8.6); a wish for one may be ignored (RFC 9110 7.8).
    if (x.upgrade === null || endpoint.manner.http2) endpoint.send(x);
    else this.tunnel(x, endpoint);
  }

  /** Where requests wait, those that find no target wait for the next one rather than go to one that is about to end. */
  private leaving({ pool, block, tried }: Exchange): Endpoint | null {
    return pool === null || (block !== null && block.holdMs > 0) ? null : pool.pickLeaving(tried);
  }

  /** A try has failed before the client saw anything of an answer. */
  readonly failed = (x: Exchange, endpoint: Endpoint, failure: Failure, progress: Progress): void => {
    const stale = progress.reused && !progress.answered && failure === FAILURE.closed;
    if (!stale) endpoint.blame(failure);
    if (!repeatable(x, progress)) return this.giveUp(x, failure);
    // An idle connection that its upstream closed meanwhile says nothing about the target: once more, on a fresh one.
    if (stale) return endpoint.sendFresh(x);
    if (failure === FAILURE.headTimeout) return this.giveUp(x, failure);
    // One that broke after something was written says more than one that was never reached, unless it was known to end.
    if (x.lastFailure === null || foundNobody(x.lastFailure))
      x.lastFailure = failure === FAILURE.closed && endpoint.leaving ? FAILURE.ended : failure;
    x.tried ??= [];
    x.tried.push(endpoint);
    if (x.tried.length < MAX_TARGETS) this.attempt(x);
    else if (foundNobody(x.lastFailure)) this.holdOrGiveUp(x, x.lastFailure);
    else this.giveUp(x, x.lastFailure);
  };

  /** Also what a target took and dropped, as one does that ends: the next one may answer. */
  private holdOrGiveUp(x: Exchange, failure: Failure): void {
    const mayWait = foundNobody(failure) || failure === FAILURE.closed;
    if (!mayWait || !this.hold().take(x, failure)) this.giveUp(x, failure);
  }

  /** Answers for the upstream. */
  giveUp(x: Exchange, failure: Failure): void {
    x.lastFailure = failure;
    answer(x, { status: failure.status, fields: failure.status === 503 ? 'Retry-After: 1\r\n' : '', body: null, reason: failure.reason });
  }
}
