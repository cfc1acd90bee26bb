import { type Clock, sleep } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log.ts';
import type { Random } from '../../shared/runtime/random.ts';
import { transportName } from '../../shared/transport.ts';
import type { Targets } from '../ledger/targets.ts';
import { Watch, type WatchTools } from './check-session.ts';
import { Turnstile } from './semaphore.ts';
import { type Watched, watchedIn } from './wanted-checks.ts';

/** Targets that are asked at a time. */
const MOST_AT_A_TIME = 64;
/** How often the ledger is told that the verdicts are still needed (ms). */
const USE_MS = 10_000;
/** How often it is seen whether all have answered once (ms). */
const LOOK_MS = 10;

/** A target came into rotation or left it; `reason` in words, empty when it is well. */
export type HealthChange = {
  readonly address: string;
  readonly tls: boolean;
  readonly id?: string;
  /** How it is spoken to, as `transportName` has it; absent where that is nothing in particular. */
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

type Parts = {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly targets: Targets;
  readonly changed: (change: HealthChange) => void;
};

/**
 * Asks targets whether they are well, once for all workers: those that enter by a probe, and those of routes with a
 * health check. The verdicts stand in the ledger, where workers read them with their next pick.
 */
export class Health {
  private readonly watches = new Map<string, Watch>();
  /** Names of the watches of each route that has any. */
  private readonly byDomain = new Map<string, ReadonlySet<string>>();
  private readonly tools: WatchTools;
  private readonly stopUsing: () => void;

  constructor({ clock, random, log, targets, changed }: Parts) {
    this.tools = {
      clock,
      random,
      targets,
      turnstile: new Turnstile(MOST_AT_A_TIME),
      told: (watched, healthy, reason) => {
        const change = changeOf(watched, healthy, reason);
        if (healthy) log.info({ target: change.address }, 'target is well');
        else log.warn({ target: change.address, reason }, 'target is not well');
        changed(change);
      },
    };
    this.stopUsing = clock.every(USE_MS, () => {
      for (const watch of this.watches.values()) watch.use();
    });
  }

  /** Takes in what is published. Verdicts are kept for as long as a route names the same target and question. */
  take({ whole, upserts, removed }: PublishedRoutes): void {
    const gone = new Set(whole ? this.byDomain.keys() : removed);
    for (const { domain, json, healthChecks } of upserts) {
      gone.delete(domain);
      if (this.byDomain.has(domain) || healthChecks) this.adopt(domain, watchedIn(json));
    }
    for (const domain of gone) this.adopt(domain, []);
  }

  /** Resolves when every target that is asked has answered or failed once, after `withinMs` at the latest. */
  async firstAnswers(withinMs: number): Promise<void> {
    const { clock } = this.tools;
    const end = clock.monotonic() + withinMs;
    while (clock.monotonic() < end && [...this.watches.values()].some((watch) => watch.unanswered)) await sleep(clock, LOOK_MS);
  }

  /** What is known by asking, for a controller that connects later. */
  standing(): HealthChange[] {
    return [...this.watches.values()].flatMap(({ standing }) =>
      standing === null ? [] : [changeOf(standing.watched, standing.healthy, standing.reason)],
    );
  }

  /** Why a question keeps its target out, in words; empty where nothing speaks against it. `name` as the gate has it. */
  reason(name: string): string {
    return this.watches.get(name)?.reason ?? '';
  }

  /** Asks nobody any more; what is known stays. */
  stop(): void {
    this.stopUsing();
    for (const watch of this.watches.values()) watch.stop();
  }

  private adopt(domain: string, watched: readonly Watched[]): void {
    const byName = Map.groupBy(watched, ({ gate }) => gate.name);
    const before = this.byDomain.get(domain);
    if (byName.size > 0) this.byDomain.set(domain, new Set(byName.keys()));
    else this.byDomain.delete(domain);
    for (const [name, wishes] of byName) {
      const watch = this.watches.get(name) ?? new Watch(wishes[0] as Watched, this.tools);
      this.watches.set(name, watch);
      watch.wished(domain, wishes);
    }
    for (const name of before ?? []) if (!byName.has(name)) this.leave(domain, name);
  }

  private leave(domain: string, name: string): void {
    const watch = this.watches.get(name);
    if (watch === undefined || watch.wished(domain, [])) return;
    watch.forget();
    this.watches.delete(name);
  }
}

const changeOf = ({ address, tls, id, transport }: Watched, healthy: boolean, reason: string): HealthChange => ({
  address,
  tls,
  ...(id !== null && { id }),
  ...(transport !== null && { transport: transportName(transport) }),
  healthy,
  reason,
});
