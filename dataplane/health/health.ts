import { type Clock, sleep } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import type { Random } from '../../shared/runtime/random.ts';
import { type LookUp, Resolver } from '../../shared/upstreams/resolver.ts';
import { transportName } from '../../shared/upstreams/transport.ts';
import type { Targets } from '../ledger/targets.ts';
import { CheckSession, type CheckTools } from './check-session.ts';
import { Semaphore } from './semaphore.ts';
import { targetLookup } from './target-lookup.ts';
import { type WantedCheck, wantedChecks } from './wanted-checks.ts';

/** Maximum number of concurrent checks. */
const MAX_CONCURRENT = 64;
/** How often the slots in the ledger are marked as in use (ms). */
const KEEP_MS = 10_000;
/** How often `firstResults` checks whether all checks have a result (ms). */
const POLL_MS = 10;

/** A target has entered or left rotation. `reason` is human-readable, and empty if the target is healthy. */
export type HealthChange = {
  readonly address: string;
  readonly tls: boolean;
  readonly id?: string;
  /** The result of `transportName`; absent for the default. */
  readonly transport?: string;
  readonly healthy: boolean;
  readonly reason: string;
};

/** A published route: the JSON of its RouteSpec. `healthChecks`: whether any of its targets is checked or probed. */
export type PublishedRoutes = {
  readonly whole: boolean;
  readonly upserts: readonly { readonly domain: string; readonly json: string; readonly healthChecks: boolean }[];
  readonly removed: readonly string[];
};

type HealthOptions = {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly targets: Targets;
  readonly changed: (change: HealthChange) => void;
  /** The system's resolver if absent. */
  readonly lookUp?: LookUp;
};

/**
 * Checks targets on behalf of all workers: those that are probed before they enter rotation, and those of routes with a
 * health check. Workers read the results from the ledger when they pick a target.
 */
export class Health {
  private readonly sessions = new Map<string, CheckSession>();
  /** The names of each route's checks, for routes that have any. */
  private readonly byDomain = new Map<string, ReadonlySet<string>>();
  private readonly tools: CheckTools;
  private readonly stopKeeping: () => void;

  constructor({ clock, random, log, targets, changed, lookUp }: HealthOptions) {
    this.tools = {
      clock,
      random,
      targets,
      lookup: targetLookup(new Resolver(clock, lookUp)),
      semaphore: new Semaphore(MAX_CONCURRENT),
      changed: (wanted, healthy, reason) => {
        const change = changeOf(wanted, healthy, reason);
        if (healthy) log.info({ target: change.address }, 'target is healthy');
        else log.warn({ target: change.address, reason }, 'target is not healthy');
        changed(change);
      },
    };
    this.stopKeeping = clock.every(KEEP_MS, () => {
      for (const session of this.sessions.values()) session.keepSlot();
    });
  }

  /** Applies published changes. A result is kept for as long as a route names the same target and check. */
  update({ whole, upserts, removed }: PublishedRoutes): void {
    const gone = new Set(whole ? this.byDomain.keys() : removed);
    const concerned = new Set<string>();
    for (const { domain, json, healthChecks } of upserts) {
      gone.delete(domain);
      if (this.byDomain.has(domain) || healthChecks) this.setChecks(domain, wantedChecks(json), concerned);
    }
    for (const domain of gone) this.setChecks(domain, [], concerned);
    // A target may have thousands of domains.
    for (const name of concerned) this.settle(name);
  }

  /** Resolves when every active check has a result, or after `withinMs`. */
  async firstResults(withinMs: number): Promise<void> {
    const { clock } = this.tools;
    const end = clock.monotonic() + withinMs;
    while (clock.monotonic() < end && [...this.sessions.values()].some((session) => session.isPending)) await sleep(clock, POLL_MS);
  }

  /** The latest results, for a controller that has just connected. */
  latest(): HealthChange[] {
    return [...this.sessions.values()].flatMap(({ latest }) =>
      latest === null ? [] : [changeOf(latest.wanted, latest.healthy, latest.reason)],
    );
  }

  /** Human-readable reason why the check called `name` keeps its target out of rotation; empty if it does not. */
  reason(name: string): string {
    return this.sessions.get(name)?.reason ?? '';
  }

  /** Stops all checks and keeps their results. */
  stop(): void {
    this.stopKeeping();
    for (const session of this.sessions.values()) session.stop();
  }

  /** Adds the names of the checks that this concerns. */
  private setChecks(domain: string, wanted: readonly WantedCheck[], concerned: Set<string>): void {
    const byName = Map.groupBy(wanted, ({ check }) => check.name);
    const before = this.byDomain.get(domain);
    if (byName.size > 0) this.byDomain.set(domain, new Set(byName.keys()));
    else this.byDomain.delete(domain);
    for (const [name, same] of byName) {
      const session = this.sessions.get(name) ?? new CheckSession(same[0] as WantedCheck, this.tools);
      this.sessions.set(name, session);
      session.want(domain, same);
      concerned.add(name);
    }
    for (const name of before ?? []) {
      if (byName.has(name)) continue;
      this.sessions.get(name)?.want(domain, []);
      concerned.add(name);
    }
  }

  private settle(name: string): void {
    const session = this.sessions.get(name);
    if (session === undefined || session.settle()) return;
    session.forget();
    this.sessions.delete(name);
  }
}

const changeOf = ({ address, tls, id, transport }: WantedCheck, healthy: boolean, reason: string): HealthChange => ({
  address,
  tls,
  ...(id !== null && { id }),
  ...(transport !== null && { transport: transportName(transport) }),
  healthy,
  reason,
});
