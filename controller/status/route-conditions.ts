import { answersItself, type UpstreamSpec } from '../../shared/route.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { targetsIn } from '../../shared/upstreams/pools.ts';
import type { Applied } from '../../shared/wire/apply.ts';
import type { DesiredState } from '../reconcile/reconciler.ts';
import type { ObjectCondition } from '../sources/source.ts';

/** A route that a source wants: valid, with an available target, and served. Three conditions, shown separately. */
export type RouteStatus = {
  readonly domain: string;
  readonly source: string;
  readonly origin: string;
  /** Valid, and the host belongs to it. */
  readonly accepted: ObjectCondition;
  /** Has a target that is not known to be down, or needs none. */
  readonly resolved: ObjectCondition;
  /** By data plane: whether it serves this route. */
  readonly programmed: Readonly<Record<string, ObjectCondition>>;
};

type ConditionCount = { holding: number; failing: number };
const noObjects = (): ConditionCount => ({ holding: 0, failing: 0 });

type Entry = {
  /** Whether it is in the routing table, rather than an object that lost its host. */
  routed: boolean;
  domain: string;
  source: string;
  origin: string;
  targets: readonly Target[];
  /** Whether requests need a target. */
  needsTarget: boolean;
  accepted: ObjectCondition;
  resolved: ObjectCondition;
  programmed: Map<string, ObjectCondition>;
};

type Target = { readonly address: string; readonly state: UpstreamSpec['state'] };

/** States in which the source itself says that a target gets no requests. */
const OUT: ReadonlySet<UpstreamSpec['state']> = new Set<UpstreamSpec['state']>(['unhealthy', 'paused']);

/** Remembers the conditions of each object and since when they have held. */
export class RouteConditions {
  private readonly clock: Clock;
  private readonly entries = new Map<string, Entry>();
  private readonly down = new Map<string, string>();
  /** The time as text, created once per change: a table may have 100,000 routes. */
  private instant = { at: Number.NaN, text: '' };
  /** Increases when a condition changes that data planes are told, or the routes do. */
  version = 0;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** The table was rebuilt: the objects are its routes, and those that lost their host. */
  built({ desired, problems }: DesiredState): void {
    const seen = new Set<string>();
    let changed = false;
    for (const [domain, { route, source }] of desired.routes) {
      const entry = this.entry(seen, domain, source, route.origin ?? source);
      const { routed, accepted, resolved } = entry;
      entry.routed = true;
      entry.accepted = this.next(entry.accepted, true, 'valid; the host belongs to it');
      entry.targets = targetsIn(route);
      entry.needsTarget = !answersItself(route);
      this.resolve(entry);
      changed ||= !routed || accepted !== entry.accepted || resolved !== entry.resolved;
    }
    for (const { domain, source, origin, message } of problems) {
      if (domain === null || desired.routes.get(domain)?.route.origin === origin) continue;
      const entry = this.entry(seen, domain, source, origin);
      changed ||= entry.routed;
      entry.routed = false;
      entry.accepted = this.next(entry.accepted, false, message);
      entry.programmed.clear();
    }
    for (const [key, { routed }] of this.entries) {
      if (seen.has(key)) continue;
      changed ||= routed;
      this.entries.delete(key);
    }
    if (changed) this.version++;
  }

  /** A data plane answered a frame: it serves the routes of the desired state, except those that it lists as rejected. */
  applied(dataplane: string, applied: Applied, { desired }: DesiredState): void {
    const bad = new Map(
      applied.results.filter(({ result }) => result === 'rejected' || result === 'conflicted').map((one) => [one.domain, one]),
    );
    const reported = new Set(applied.results.map(({ domain }) => domain));
    for (const [domain, { route, source }] of desired.routes) {
      const entry = this.entries.get(keyOf(domain, source, route.origin ?? source));
      const before = entry?.programmed.get(dataplane);
      if (!entry || (before?.holds === false && !reported.has(domain))) continue;
      const refusal = bad.get(domain);
      const reason = refusal ? `${refusal.result}: ${refusal.reason ?? 'no reason given'}` : 'served';
      entry.programmed.set(dataplane, this.next(before, !refusal, reason));
    }
  }

  /** A data plane reports a target as up or down. */
  upstream(address: string, healthy: boolean, reason: string): void {
    if (healthy) this.down.delete(address);
    else this.down.set(address, reason);
    for (const entry of this.entries.values()) {
      if (!entry.targets.some((target) => target.address === address)) continue;
      const { resolved } = entry;
      this.resolve(entry);
      if (entry.resolved !== resolved) this.version++;
    }
  }

  /** The conditions of each route, apart from where it is served. */
  *routes(): Generator<Pick<RouteStatus, 'domain' | 'source' | 'accepted' | 'resolved'>> {
    for (const entry of this.entries.values()) if (entry.routed) yield entry;
  }

  /** How many objects each condition holds for. `programmed` holds if every data plane that has answered serves the route. */
  counts(): Record<'accepted' | 'resolved' | 'programmed', ConditionCount> {
    const counts = { accepted: noObjects(), resolved: noObjects(), programmed: noObjects() };
    const count = (into: ConditionCount, holds: boolean) => (holds ? into.holding++ : into.failing++);
    for (const { accepted, resolved, programmed } of this.entries.values()) {
      count(counts.accepted, accepted.holds);
      // An object that is not accepted has no targets and is sent to no data plane.
      if (!accepted.holds) continue;
      count(counts.resolved, resolved.holds);
      if (programmed.size > 0)
        count(
          counts.programmed,
          [...programmed.values()].every(({ holds }) => holds),
        );
    }
    return counts;
  }

  list(): RouteStatus[] {
    return [...this.entries.values()].map(({ domain, source, origin, accepted, resolved, programmed }) => ({
      domain,
      source,
      origin,
      accepted,
      resolved,
      programmed: Object.fromEntries(programmed),
    }));
  }

  private entry(seen: Set<string>, domain: string, source: string, origin: string): Entry {
    const key = keyOf(domain, source, origin);
    seen.add(key);
    const known = this.entries.get(key);
    if (known) return known;
    const unknown = this.next(undefined, false, 'not checked');
    const entry = {
      routed: false,
      domain,
      source,
      origin,
      targets: [],
      needsTarget: false,
      accepted: unknown,
      resolved: unknown,
      programmed: new Map<string, ObjectCondition>(),
    };
    this.entries.set(key, entry);
    return entry;
  }

  private resolve(entry: Entry): void {
    const [first, ...others] = entry.targets.map((target) => this.whyOut(target));
    if (first === undefined)
      entry.resolved = entry.needsTarget
        ? this.next(entry.resolved, false, 'it has no target')
        : this.next(entry.resolved, true, 'responds without a target');
    else if (first === null || others.includes(null)) entry.resolved = this.next(entry.resolved, true, 'a target is available');
    else entry.resolved = this.next(entry.resolved, false, `no target is available: ${first}`);
  }

  /** null unless the target is known to get no requests. */
  private whyOut({ address, state }: Target): string | null {
    const down = this.down.get(address);
    if (down !== undefined) return `${address} ${down}`;
    return OUT.has(state) ? `${address} is ${state}` : null;
  }

  private next(before: ObjectCondition | undefined, holds: boolean, reason: string): ObjectCondition {
    if (before?.holds === holds && before.reason === reason) return before;
    return { holds, reason, since: before?.holds === holds ? before.since : this.now() };
  }

  private now(): string {
    const at = this.clock.now();
    if (at !== this.instant.at) this.instant = { at, text: new Date(at).toISOString() };
    return this.instant.text;
  }
}

const keyOf = (domain: string, source: string, origin: string): string => JSON.stringify([domain, source, origin]);
