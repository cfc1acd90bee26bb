import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import { answer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import type { Endpoint } from './endpoint.ts';
import { FAILURE, type Failure } from './failure.ts';
import type { Pool } from './pool.ts';
import { MAX_TARGETS, type Progress, repeatable } from './retry.ts';

/** Brings an exchange to a target of its pool, to another one if that may be, and else says why not. */
export class Forwarder {
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly begin: (x: Exchange) => void;

  constructor(clock: Clock, log: Log) {
    this.clock = clock;
    this.log = log;
    this.begin = (x) => this.attempt(x);
  }

  forward(x: Exchange, pool: Pool): void {
    x.pool = pool;
    if (x.bodyComplete) this.attempt(x);
    else x.client.takeBody(x, this.begin);
  }

  private attempt(x: Exchange): void {
    const endpoint = x.pool?.pick(this.clock.now(), x.tried) ?? null;
    if (endpoint === null) this.giveUp(x, null, x.lastFailure ?? FAILURE.noTarget);
    else endpoint.send(x);
  }

  /** A try has failed before the client saw anything of an answer. */
  readonly failed = (x: Exchange, endpoint: Endpoint, failure: Failure, progress: Progress): void => {
    const stale = progress.reused && !progress.answered && failure === FAILURE.closed;
    if (!stale) endpoint.blame(failure);
    if (!repeatable(x, progress)) return this.giveUp(x, endpoint, failure);
    // An idle connection that its upstream closed meanwhile says nothing about the target: once more, on a fresh one.
    if (stale) return endpoint.sendFresh(x);
    if (failure === FAILURE.headTimeout) return this.giveUp(x, endpoint, failure);
    x.lastFailure = failure;
    x.tried ??= [];
    x.tried.push(endpoint);
    if (x.tried.length >= MAX_TARGETS) this.giveUp(x, endpoint, failure);
    else this.attempt(x);
  };

  private giveUp(x: Exchange, endpoint: Endpoint | null, failure: Failure): void {
    this.log.warn(
      { host: x.host, method: x.method, status: failure.status, failure: failure.code, ...(endpoint && { target: endpoint.address }) },
      failure.reason,
    );
    answer(x, { status: failure.status, fields: failure.status === 503 ? 'Retry-After: 1\r\n' : '', body: null, reason: failure.reason });
  }
}
