import { type Clock, sleep } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log.ts';
import type { Random } from '../../shared/runtime/random.ts';
import { transportName } from '../../shared/transport.ts';
import type { Targets } from '../ledger/targets.ts';
import { CheckSession, type CheckTools } from './check-session.ts';
import { Semaphore } from './semaphore.ts';
import { type WantedCheck, wantedChecks } from './wanted-checks.ts';

/** Checks that run at a time. */
const MOST_AT_A_TIME = 64;
/** How often the slots in the ledger are marked as still needed (ms). */
const KEEP_MS = 10_000;
/** How often it is tested whether all checks have had a result (ms). */
const POLL_MS = 10;

/** A target has come into rotation or left it; `reason` is for people, empty when it is healthy. */
export type HealthChange = {
  readonly address: string;
  readonly tls: boolean;
  readonly id?: string;
  /** As `transportName` has it; absent for the default. */
  readonly transport?: string;
  readonly healthy: boolean;
  readonly reason: string;
};

/** Routes as they are published: each as the JSON of its RouteSpec. `healthChecks`: whether a target is checked or probed. */
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
};

/**
 * Checks targets, once for all workers: those that enter by a probe, and those of routes with a health check. The results
 * are in the ledger, where workers read them when they next pick a target.
 */
export class Health {
  private readonly sessions = new Map<string, CheckSession>();
  /** Names of the checks of each route that has any. */
  private readonly byDomain = new Map<string, ReadonlySet<string>>();
  private readonly tools: CheckTools;
  private readonly stopKeeping: () => void;

  constructor({ clock, random, log, targets, changed }: HealthOptions) {
    this.tools = {
      clock,
      random,
      targets,
      semaphore: new Semaphore(MOST_AT_A_TIME),
      changed: (wanted, healthy, reason) => {
        const change = changeOf(wanted, healthy, reason);
        if (healthy) log.info({ target: change.address }, 'target is well');
        else log.warn({ target: change.address, reason }, 'target is not well');
        changed(change);
      },
    };
    this.stopKeeping = clock.every(KEEP_MS, () => {
      for (const session of this.sessions.values()) session.keepSlot();
    });
  }

  /** Follows what is published. A result is kept for as long as a route names the same target and check. */
  update({ whole, upserts, removed }: PublishedRoutes): void {
    const gone = new Set(whole ? this.byDomain.keys() : removed);
    for (const { domain, json, healthChecks } of upserts) {
      gone.delete(domain);
      if (this.byDomain.has(domain) || healthChecks) this.setChecks(domain, wantedChecks(json));
    }
    for (const domain of gone) this.setChecks(domain, []);
  }

  /** Resolves when every active check has had a result, after `withinMs` at the latest. */
  async firstResults(withinMs: number): Promise<void> {
    const { clock } = this.tools;
    const end = clock.monotonic() + withinMs;
    while (clock.monotonic() < end && [...this.sessions.values()].some((session) => session.isPending)) await sleep(clock, POLL_MS);
  }

  /** The latest results, for a controller that connects later. */
  latest(): HealthChange[] {
    return [...this.sessions.values()].flatMap(({ latest }) =>
      latest === null ? [] : [changeOf(latest.wanted, latest.healthy, latest.reason)],
    );
  }

  /** Why a check keeps its target out of rotation, for people; empty where it does not. `name` is the name of the check. */
  reason(name: string): string {
    return this.sessions.get(name)?.reason ?? '';
  }

  /** Stops all checks; their results stay. */
  stop(): void {
    this.stopKeeping();
    for (const session of this.sessions.values()) session.stop();
  }

  private setChecks(domain: string, wanted: readonly WantedCheck[]): void {
    const byName = Map.groupBy(wanted, ({ check }) => check.name);
    const before = this.byDomain.get(domain);
    if (byName.size > 0) this.byDomain.set(domain, new Set(byName.keys()));
    else this.byDomain.delete(domain);
    for (const [name, same] of byName) {
      const session = this.sessions.get(name) ?? new CheckSession(same[0] as WantedCheck, this.tools);
      this.sessions.set(name, session);
      session.want(domain, same);
    }
    for (const name of before ?? []) if (!byName.has(name)) this.drop(domain, name);
  }

  /** The route does not want the check any more. */
  private drop(domain: string, name: string): void {
    const session = this.sessions.get(name);
    if (session === undefined || session.want(domain, [])) return;
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
