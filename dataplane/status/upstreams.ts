import type { Clock } from '../../shared/runtime/clock.ts';
import type { LastFailure, UpstreamStatus, UpstreamSummary } from '../../shared/wire/status.ts';
import type { Health } from '../health/health.ts';
import { type Targets, targetKey, targetName } from '../ledger/targets.ts';
import type { LiveTable } from '../table/live-table.ts';
import type { TargetChange, TrafficReport } from '../traffic/protocol.ts';
import { type NamedTarget, namedTargets, outOfRotationReason } from './named-targets.ts';

/** How many targets out of rotation are listed; further ones are only counted. */
const MOST_SHOWN = 50;

type UpstreamsTools = {
  readonly table: LiveTable;
  readonly targets: Targets;
  readonly health: Pick<Health, 'reason'>;
  readonly clock: Clock;
};

/** Health and load of every target that a route names, from the ledger that all workers share. */
export class Upstreams {
  private readonly tools: UpstreamsTools;
  /** Why targets were ejected, as reported by the workers. */
  private readonly reasons = new Map<string, string>();
  private readonly failures = new Map<string, LastFailure>();
  /** Recomputed on demand after a change, not with each change. */
  private known: ReadonlyMap<string, NamedTarget> | null = null;

  constructor(parts: UpstreamsTools) {
    this.tools = parts;
    parts.table.onChange(() => {
      this.known = null;
    });
  }

  /** A worker ejected a target after consecutive failures, or saw it recover. */
  changed({ address, tls, id, transport, healthy, reason }: TargetChange): void {
    const name = targetName(address, tls, id, transport);
    if (healthy) this.reasons.delete(name);
    else this.reasons.set(name, reason);
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
    return [...this.all().values()].map((target) => this.status(target)).sort((a, b) => (a.address < b.address ? -1 : 1));
  }

  /** A summary of bounded size, for `status`. */
  summary(): UpstreamSummary {
    const all = this.list();
    const out = all.filter(({ healthy }) => !healthy);
    return { count: all.length, healthy: all.length - out.length, out: out.slice(0, MOST_SHOWN) };
  }

  find(address: string, tls: boolean, id?: string, transport?: string): UpstreamStatus | undefined {
    const target = this.all().get(targetName(address, tls, id, transport));
    return target && this.status(target);
  }

  private status(target: NamedTarget): UpstreamStatus {
    const { address, tls, id, transport, domains, count } = target;
    const { targets, health, clock } = this.tools;
    const name = targetName(address, tls, id, transport);
    const failure = this.failures.get(name);
    const slot = targets.find(targetKey(address, tls, id, transport));
    const ejected = slot >= 0 && targets.ejected(slot, clock.now());
    const reason = ejected
      ? `${this.reasons.get(name) ?? 'it failed'} (${targets.failures(slot)} in a row)`
      : outOfRotationReason(target, (check) => health.reason(check.name));
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
    if (this.known !== null) return this.known;
    const known = namedTargets(this.tools.table.list());
    for (const notes of [this.reasons, this.failures]) for (const name of notes.keys()) if (!known.has(name)) notes.delete(name);
    this.known = known;
    return known;
  }
}
