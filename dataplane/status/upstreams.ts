import type { RouteSpec, UpstreamSpec } from '../../shared/route.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { LastFailure, UpstreamStatus } from '../../shared/wire/status.ts';
import { type Targets, targetKey } from '../ledger/targets.ts';
import type { Table } from '../table/table.ts';
import type { TargetChange, TrafficReport } from '../traffic/protocol.ts';

/** In place of a state: what its source says of it is from before the start. */
const DOUBTED = 'doubted';
/** Domains that are named of each target; the others are counted. */
const NAMED_DOMAINS = 10;

type Target = { readonly address: string; readonly tls: boolean; readonly domains: string[]; count: number; state: string };

/** Health and load of every target that a route names, from the ledger that all workers share. */
export class Upstreams {
  private readonly table: Table;
  private readonly targets: Targets;
  private readonly clock: Clock;
  /** Why a target left the rotation, as the worker said that took it out. */
  private readonly reasons = new Map<string, string>();
  private readonly failures = new Map<string, LastFailure>();
  /** Worked out when asked for after a change, not at each change. */
  private known: ReadonlyMap<string, Target> | null = null;

  constructor(table: Table, targets: Targets, clock: Clock) {
    this.table = table;
    this.targets = targets;
    this.clock = clock;
    table.onChange(() => {
      this.known = null;
    });
  }

  changed(change: TargetChange): void {
    if (change.healthy) this.reasons.delete(nameOf(change.address, change.tls));
    else this.reasons.set(nameOf(change.address, change.tls), change.reason);
  }

  /** What workers have seen fail since their last report. */
  take({ targets = [] }: TrafficReport): void {
    for (const { address, tls, count, code, reason, at } of targets) {
      const name = nameOf(address, tls);
      const sofar = this.failures.get(name)?.count ?? 0;
      this.failures.set(name, { code, reason, at: new Date(at).toISOString(), count: sofar + count });
    }
  }

  /** Sorted by address. */
  list(): UpstreamStatus[] {
    return [...this.all().values()].map((target) => this.status(target)).sort((a, b) => (a.address < b.address ? -1 : 1));
  }

  find(address: string, tls: boolean): UpstreamStatus | undefined {
    const target = this.all().get(nameOf(address, tls));
    return target && this.status(target);
  }

  private status(target: Target): UpstreamStatus {
    const { address, tls, domains, count, state } = target;
    const name = nameOf(address, tls);
    const failure = this.failures.get(name);
    const slot = this.targets.find(targetKey(address, tls));
    const ejected = slot >= 0 && this.targets.ejected(slot, this.clock.now());
    const reason = ejected
      ? `${this.reasons.get(name) ?? 'it failed'} (${this.targets.failures(slot)} in a row)`
      : state === 'healthy'
        ? null
        : state === DOUBTED
          ? 'its address is from before the restart; waiting for the controller'
          : `its source says ${state}`;
    return {
      address,
      tls,
      healthy: reason === null,
      reason,
      in_flight: slot < 0 ? 0 : this.targets.inFlight(slot),
      ...(failure && { last_failure: failure }),
      domains,
      domain_count: count,
    };
  }

  private all(): ReadonlyMap<string, Target> {
    if (this.known !== null) return this.known;
    const known = new Map<string, Target>();
    for (const { route, doubted } of this.table.list())
      for (const { address, tls, state, id } of targetsOf(route))
        note(known, route.domain, address, tls, doubted && id !== undefined ? DOUBTED : state);
    for (const notes of [this.reasons, this.failures]) for (const name of notes.keys()) if (!known.has(name)) notes.delete(name);
    this.known = known;
    return known;
  }
}

function note(known: Map<string, Target>, domain: string, address: string, tls: boolean, state: string): void {
  const name = nameOf(address, tls);
  let target = known.get(name);
  if (target === undefined) {
    target = { address, tls, domains: [], count: 0, state };
    known.set(name, target);
  }
  // In rotation for one route is in rotation.
  if (state === 'healthy') target.state = state;
  if (target.domains.at(-1) === domain) return;
  target.count++;
  if (target.domains.length < NAMED_DOMAINS) target.domains.push(domain);
}

type NamedTarget = Pick<UpstreamSpec, 'address' | 'state' | 'id'> & { readonly tls: boolean };

const targetsOf = (route: RouteSpec): NamedTarget[] =>
  [route, ...route.handles].flatMap(({ upstreams, tls }) => upstreams.map((target) => ({ ...target, tls })));

const nameOf = (address: string, tls: boolean): string => (tls ? `tls ${address}` : address);
