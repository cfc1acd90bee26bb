import type { Clock } from '../../../shared/runtime/clock.ts';
import { type Exchange, forgetTried } from '../exchange/exchange.ts';
import type { Faults } from '../exchange/faults.ts';
import { serveLater } from '../exchange/later.ts';
import type { HostIndex } from '../match/host-index.ts';
import type { Pool } from '../upstream/pool/pool.ts';
import type { Endpoint } from '../upstream/target/endpoint.ts';
import { newestBlock, poolsAt, poolsOf } from './choose.ts';
import type { CompiledRoute } from './compiled-route.ts';

/** Routes and targets processed per turn of the event loop: each has a route or some of its blocks compiled. */
const STEP = 50;

export type DepartureTools = {
  readonly clock: Clock;
  readonly faults: Faults;
  /** The newest table. */
  readonly index: HostIndex<CompiledRoute>;
};

/**
 * Cleans up after a table swap: connections that will not be used again are closed, and requests that wait
 * for a target that is paused or gone are sent elsewhere if that is allowed.
 */
export class Departures {
  private readonly tools: DepartureTools;

  constructor(tools: DepartureTools) {
    this.tools = tools;
  }

  /** Processes every route that was in use and has been replaced. */
  async follow(replaced: Iterable<readonly [string, CompiledRoute]>, nextTurn: () => Promise<void>): Promise<void> {
    let steps = 0;
    const step = async (act: () => void): Promise<void> => {
      this.tools.faults.step(act);
      if (++steps % STEP === 0) await nextTurn();
    };
    for (const [domain, was] of replaced) {
      let left: readonly Pool[] = [];
      await step(() => {
        left = poolsLeft(was, this.tools.index.at(domain));
      });
      const endpoints = new Set(left.flatMap((pool) => pool.endpoints));
      // Until the blocks of a large route that have a target are compiled, nothing but its last pool says that it is not gone.
      for (const endpoint of endpoints) await step(() => void this.poolsWith(endpoint, domain));
      await step(() => {
        for (const pool of left) pool.close();
      });
      for (const endpoint of endpoints) await step(() => this.checkEndpoint(endpoint, domain));
    }
  }

  /** Those of the newest table that may have a target. */
  private poolsWith({ address }: Endpoint, domain: string): ReadonlySet<Pool> {
    return poolsAt(this.tools.index, domain, address);
  }

  private checkEndpoint(endpoint: Endpoint, domain: string): void {
    const pools = [...this.poolsWith(endpoint, domain)];
    const states = pools.flatMap((pool) => pool.stateOf(endpoint) ?? []);
    const only = (state: string) => states.length > 0 && states.every((one) => one === state);
    endpoint.keepIdle(endpoint.poolCount > 0 && !only('draining'));
    // A target that is named by its source and no longer listed has stopped: it will send no response.
    const gone = states.length === 0 && endpoint.isGone;
    if (gone || only('paused')) this.retryElsewhere(endpoint);
  }

  /** Requests that can't go elsewhere keep waiting: the target may still answer. */
  private retryElsewhere(endpoint: Endpoint): void {
    const { clock, index } = this.tools;
    const now = clock.now();
    const elsewhere = (x: Exchange): boolean => {
      const block = newestBlock(index, x);
      const pool = block?.pool ?? null;
      if (block === null || pool === null || pool.sendsTo(endpoint)) return false;
      return block.holdMs > 0 || pool.peek(now) !== null || pool.drainingCount > 0;
    };
    for (const x of endpoint.collectRetryable(elsewhere)) {
      forgetTried(x);
      x.lastFailure = null;
      serveLater(x);
    }
  }
}

/** The pools of a replaced route that the newest one does not keep: a large route keeps those of the blocks that have not changed. */
function poolsLeft(was: CompiledRoute, now: CompiledRoute | null): Pool[] {
  const kept = now === null ? new Set<Pool>() : poolsOf(now);
  return [...poolsOf(was)].filter((pool) => !kept.has(pool));
}
