import type { Clock } from '../../shared/runtime/clock.ts';
import type { Applied } from '../../shared/wire/apply.ts';
import type { DesiredState } from '../reconcile/reconciler.ts';
import type { Condition } from '../sources/source.ts';

/** A route that a source wants: valid, with an available target, and served. Three conditions, shown separately. */
export type RouteStatus = {
  readonly domain: string;
  readonly source: string;
  readonly origin: string;
  /** Valid, and the host belongs to it. */
  readonly accepted: Condition;
  /** Has a target that is not known to be down, or needs none. */
  readonly resolved: Condition;
  /** By data plane: whether it serves this route. */
  readonly programmed: Readonly<Record<string, Condition>>;
};

type ConditionCount = { holding: number; failing: number };
const noObjects = (): ConditionCount => ({ holding: 0, failing: 0 });

type Entry = {
  domain: string;
  source: string;
  origin: string;
  targets: readonly string[];
  accepted: Condition;
  resolved: Condition;
  programmed: Map<string, Condition>;
};

/** Remembers the conditions of each object and since when they have held. */
export class RouteConditions {
  private readonly clock: Clock;
  private readonly entries = new Map<string, Entry>();
  private readonly down = new Map<string, string>();
  /** The time as text, created once per change: a table may have 100,000 routes. */
  private instant = { at: Number.NaN, text: '' };

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** The table was rebuilt: the objects are its routes, and those that lost their host. */
  built({ desired, problems }: DesiredState): void {
    const seen = new Set<string>();
    for (const [domain, { route, source }] of desired.routes) {
      const entry = this.entry(seen, domain, source, route.origin ?? source);
      entry.accepted = this.next(entry.accepted, true, 'valid; the host belongs to it');
      const handles = route.handles.flatMap((handle) => handle.upstreams);
      entry.targets = [...route.upstreams, ...handles].map((upstream) => upstream.address);
      this.resolve(entry);
    }
    for (const { domain, source, origin, message } of problems) {
      if (domain === null || desired.routes.get(domain)?.route.origin === origin) continue;
      const entry = this.entry(seen, domain, source, origin);
      entry.accepted = this.next(entry.accepted, false, message);
      entry.programmed.clear();
    }
    for (const key of this.entries.keys()) if (!seen.has(key)) this.entries.delete(key);
  }

  /** A data plane answered a frame: it serves the routes of the desired state, except those that it lists as refused. */
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
    for (const entry of this.entries.values()) if (entry.targets.includes(address)) this.resolve(entry);
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
    const entry = { domain, source, origin, targets: [], accepted: unknown, resolved: unknown, programmed: new Map<string, Condition>() };
    this.entries.set(key, entry);
    return entry;
  }

  private resolve(entry: Entry): void {
    const down = entry.targets.filter((target) => this.down.has(target));
    if (entry.targets.length === 0) entry.resolved = this.next(entry.resolved, true, 'responds without a target');
    else if (down.length < entry.targets.length) entry.resolved = this.next(entry.resolved, true, 'a target is available');
    else entry.resolved = this.next(entry.resolved, false, `no target is available: ${down[0]} ${this.down.get(down[0] as string)}`);
  }

  private next(before: Condition | undefined, holds: boolean, reason: string): Condition {
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
