import type { Clock } from '../../shared/runtime/clock.ts';
import { inTurns } from '../../shared/runtime/turns.ts';
import type { LastFailure, UpstreamStatus, UpstreamSummary } from '../../shared/wire/status.ts';
import type { Health } from '../health/health.ts';
import { type Targets, targetName } from '../ledger/targets.ts';
import type { LiveTable } from '../table/live-table.ts';
import type { TargetChange, TrafficReport } from '../traffic/protocol.ts';
import type { PoolTrouble } from './alerts.ts';
import {
  indexTargets,
  isMirror,
  type NamedTarget,
  outOfRotationReason,
  outOfRotationReasonFor,
  type PoolTarget,
  type RoutePools,
  type RouteView,
  TargetIndex,
} from './named-targets.ts';
import { poolTroubles } from './pool-troubles.ts';

/** How many targets out of rotation are listed; further ones are only counted. */
const MAX_SHOWN = 50;
/** How many routes are parsed, or targets looked at, in one turn of the event loop: a few ms. */
const PER_TURN = 250;
/** How many pools in trouble are reported: if there are more, they probably share a cause. */
const MAX_POOLS = 500;

/** How many of the targets before one are looked at, since a pool may have thousands. */
const MAX_BEFORE = 100;

type UpstreamsTools = {
  readonly table: LiveTable;
  readonly targets: Targets;
  readonly health: Pick<Health, 'reason'>;
  readonly clock: Clock;
};

/** Current state of an address; targets that share it are added up. `healthy`: one of them is in rotation. */
export type AddressLoad = { readonly address: string; healthy: boolean; inFlight: number; failures: number };
/** Targets of a route by their state, and how many of its pools have none in rotation. */
export type RouteLoad = { readonly domain: string; readonly inRotation: number; readonly out: number; readonly poolsDown: number };
/** `pools`: those that lack targets. */
export type UpstreamSurvey = { readonly summary: UpstreamSummary; readonly pools: readonly PoolTrouble[] };
export type Load = { readonly addresses: readonly AddressLoad[]; readonly routes: readonly RouteLoad[] };

/** Health and load of every target that a route names, from the ledger that all workers share. */
export class Upstreams {
  private readonly tools: UpstreamsTools;
  /** Why targets were ejected, as reported by the workers, and whether only ever for one client. */
  private readonly reasons = new Map<string, { readonly reason: string; readonly forOneClient: boolean }>();
  private readonly failures = new Map<string, LastFailure>();
  /** Recomputed on demand after a change, not with each change. */
  private known: TargetIndex | null = null;
  /** Number of changes of the table so far. */
  private changes = 0;

  constructor(parts: UpstreamsTools) {
    this.tools = parts;
    parts.table.onChange(({ published }) => {
      if (!published) return;
      this.known = null;
      this.changes++;
    });
  }

  /**
   * A worker ejected a target after consecutive failures, or saw it recover. @returns whether that is so for all clients: failures of one
   * client's requests say nothing about the target as such.
   */
  changed({ address, tls, id, transport, healthy, reason, forOneClient = false }: TargetChange): boolean {
    const name = targetName(address, tls, id, transport);
    const before = this.reasons.get(name);
    if (healthy) this.reasons.delete(name);
    else this.reasons.set(name, { reason, forOneClient: forOneClient && before?.forOneClient !== false });
    return healthy ? before?.forOneClient !== true : !forOneClient;
  }

  /** Records failures since the last report of a worker. */
  record({ targets = [] }: TrafficReport): void {
    for (const { address, tls, id, transport, count, code, reason, at } of targets) {
      const name = targetName(address, tls, id, transport);
      const sofar = this.failures.get(name)?.count ?? 0;
      this.failures.set(name, { code, reason, at: new Date(at).toISOString(), count: sofar + count });
    }
  }

  /** Sorted by address. */
  list(): UpstreamStatus[] {
    return [...this.all().values()].map((target) => this.status(target)).sort(byAddress);
  }

  /** A summary of bounded size, for `status`. */
  summary(): UpstreamSummary {
    const all = this.list();
    const out = all.filter(({ healthy }) => !healthy);
    return { count: all.length, healthy: all.length - out.length, out: out.slice(0, MAX_SHOWN) };
  }

  find(address: string, tls: boolean, id?: string, transport?: string): UpstreamStatus | undefined {
    const target = this.all().get(targetName(address, tls, id, transport));
    return target && this.status(target);
  }

  /**
   * The state of all targets and routes, for metrics. There may be many thousands, so this takes several turns of the event loop, and a
   * route that is changed meanwhile may be missing.
   */
  async load(): Promise<Load> {
    const index = await this.prepared();
    const addresses = new Map<string, AddressLoad>();
    await inTurns(index.targets.values(), PER_TURN, (target) => this.addTo(addresses, this.status(target)));
    const routes: RouteLoad[] = [];
    await inTurns(index.routes, PER_TURN, (route) => routes.push(this.routeLoad(route)));
    return { addresses: [...addresses.values()], routes };
  }

  /** A summary of bounded size, and the pools that lack targets. In several turns, as `load`. */
  async survey(): Promise<UpstreamSurvey> {
    const index = await this.prepared();
    const out: UpstreamStatus[] = [];
    let healthy = 0;
    await inTurns(index.targets.values(), PER_TURN, (target) => {
      if (this.reasonOf(target) === null) healthy++;
      else if (out.length < MAX_SHOWN) out.push(this.status(target));
    });
    const troubles: PoolTrouble[] = [];
    const view = {
      reason: (member: PoolTarget) => this.reasonFor(member),
      failure: ({ target }: PoolTarget) => this.failures.get(nameOf(target)),
    };
    await inTurns(index.routes, PER_TURN, ({ domain, pools }) => {
      if (troubles.length >= MAX_POOLS) return;
      for (const pool of pools) troubles.push(...poolTroubles(domain, pool, view));
    });
    return { summary: { count: index.targets.size, healthy, out: out.sort(byAddress) }, pools: troubles };
  }

  private addTo(addresses: Map<string, AddressLoad>, { address, healthy, in_flight, last_failure }: UpstreamStatus): void {
    const load = addresses.get(address) ?? { address, healthy: false, inFlight: 0, failures: 0 };
    load.healthy ||= healthy;
    load.inFlight += in_flight;
    load.failures += last_failure?.count ?? 0;
    addresses.set(address, load);
  }

  private routeLoad({ domain, pools }: RoutePools): RouteLoad {
    const load = { domain, inRotation: 0, out: 0, poolsDown: 0 };
    for (const pool of pools) {
      const { members } = pool;
      const inRotation = members.filter((member) => this.reasonFor(member) === null).length;
      load.inRotation += inRotation;
      load.out += members.length - inRotation;
      // No visitor notices that a mirror is down.
      if (inRotation === 0 && !isMirror(pool)) load.poolsDown++;
    }
    return load;
  }

  /** Why one pool sends the target no requests, or only one that tries it; null if it does. */
  private reasonFor({ target, view }: PoolTarget): string | null {
    return this.ejection(target, [view]) ?? outOfRotationReasonFor(view, (check) => this.tools.health.reason(check.name));
  }

  /** Why no route sends requests to the target, or only one that tries it; null if one does. */
  private reasonOf(target: NamedTarget): string | null {
    return (
      this.ejection(target, [...target.views.values()]) ?? outOfRotationReason(target, (check) => this.tools.health.reason(check.name))
    );
  }

  /** Once it has been out for long enough, a health check says whether it works, or the next request, if it gets any. */
  private ejection(target: NamedTarget, views: readonly RouteView[]): string | null {
    const { targets, clock } = this.tools;
    const [slot, now] = [targets.find(target.key), clock.now()];
    if (slot < 0) return null;
    const isOut = targets.ejected(slot, now);
    const isTriedNext = () => views.every(({ check }) => check === null) && views.some((view) => this.mayBeTried(view));
    if (!isOut && !(targets.untried(slot, now) && isTriedNext())) return null;
    const failures = targets.failures(slot);
    // None if its rate of errors took it out.
    const count = failures === 0 ? [] : [`${failures} in a row${targets.failsOneClient(slot) ? ", all of one client's requests" : ''}`];
    const details = [...count, ...(isOut ? [] : ['the next request tries it'])].join('; ');
    return `${this.reasons.get(nameOf(target))?.reason ?? 'it failed'}${details === '' ? '' : ` (${details})`}`;
  }

  /** Whether a request tries it, once it has been out for long enough. */
  private mayBeTried({ isUnused, before }: RouteView): boolean {
    if (isUnused) return false;
    return before?.members.slice(0, Math.min(before.count, MAX_BEFORE)).some((member) => this.serves(member)) !== true;
  }

  /** Whether it gets requests, and is known to work. */
  private serves({ target, view }: PoolTarget): boolean {
    if (view.isUnused) return false;
    const { targets, clock } = this.tools;
    const [slot, now] = [targets.find(target.key), clock.now()];
    if (slot >= 0 && (targets.ejected(slot, now) || (view.check === null && targets.untried(slot, now)))) return false;
    return outOfRotationReasonFor(view, (check) => this.tools.health.reason(check.name)) === null;
  }

  private status(target: NamedTarget): UpstreamStatus {
    const { address, tls, id, transport, domains, count } = target;
    const { targets } = this.tools;
    const failure = this.failures.get(nameOf(target));
    const slot = targets.find(target.key);
    const reason = this.reasonOf(target);
    return {
      address,
      tls,
      ...(id !== null && { id }),
      ...(transport !== '' && { transport }),
      healthy: reason === null,
      reason,
      in_flight: slot < 0 ? 0 : targets.inFlight(slot),
      ...(failure && { last_failure: failure }),
      domains,
      domain_count: count,
    };
  }

  private all(): ReadonlyMap<string, NamedTarget> {
    this.known ??= this.forgetOthers(indexTargets(this.tools.table.list()));
    return this.known.targets;
  }

  /** As `all`, in several turns; parsing all routes at once would stop the main thread. */
  private async prepared(): Promise<TargetIndex> {
    if (this.known !== null) return this.known;
    const index = new TargetIndex();
    const { changes } = this;
    await inTurns(this.tools.table.list(), PER_TURN, (route) => index.add(route));
    if (changes === this.changes) this.known ??= this.forgetOthers(index);
    return index;
  }

  private forgetOthers(index: TargetIndex): TargetIndex {
    for (const notes of [this.reasons, this.failures]) for (const name of notes.keys()) if (!index.targets.has(name)) notes.delete(name);
    return index;
  }
}

const nameOf = ({ address, tls, id, transport }: NamedTarget): string => targetName(address, tls, id, transport);
const byAddress = (a: UpstreamStatus, b: UpstreamStatus): number => (a.address < b.address ? -1 : 1);
