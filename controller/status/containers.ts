import type { Clock } from '../../shared/runtime/clock.ts';
import type { Condition, ContainerReading } from '../sources/source.ts';
import type { RouteStatus } from './route-conditions.ts';

/** One site of a labelled container: what its source found, what data planes found, and where it is served. */
export type ContainerStatus = ContainerReading & {
  /** By data plane: every domain of it is served there. */
  readonly programmed: Readonly<Record<string, Condition>>;
};

export type TargetReport = { readonly address: string; readonly id?: string; readonly healthy: boolean; readonly reason: string };

/** Targets that are remembered as down; the oldest is forgotten first. */
const MOST_TARGETS = 10_000;

/** Joins what sources know about containers with what data planes say about their addresses and routes. */
export class ContainerBook {
  private readonly clock: Clock;
  private readonly readings: () => readonly ContainerReading[];
  private readonly down = new Map<string, Condition>();

  constructor(clock: Clock, readings: () => readonly ContainerReading[]) {
    this.clock = clock;
    this.readings = readings;
  }

  /** A data plane found a target up or down. Only those with an id are containers. */
  upstream({ address, id, healthy, reason }: TargetReport): void {
    if (id === undefined) return;
    const key = `${id} ${address}`;
    if (healthy) this.down.delete(key);
    else this.down.set(key, { holds: false, reason, since: this.down.get(key)?.since ?? new Date(this.clock.now()).toISOString() });
    const [oldest] = this.down.size > MOST_TARGETS ? this.down.keys() : [];
    if (oldest !== undefined) this.down.delete(oldest);
  }

  /** `objects` are the routes with what data planes made of them. */
  list(objects: readonly RouteStatus[]): ContainerStatus[] {
    const programmed = new Map(objects.filter(({ source }) => source === 'docker').map((one) => [one.domain, one.programmed]));
    return this.readings().map((reading) => {
      const down = this.down.get(`${reading.id} ${reading.address}`);
      const resolved = reading.resolved.holds && down ? down : reading.resolved;
      const change = reading.change ?? (resolved === down ? 'it answers again' : null);
      // One whose labels are wrong may have an address all the same: it is routed as it was before.
      const isRouted = reading.accepted.holds || reading.address !== null;
      return { ...reading, resolved, change, programmed: isRouted ? together(reading.domains, programmed) : {} };
    });
  }
}

/** A site with several domains is served where all of them are. */
function together(
  domains: readonly string[],
  programmed: ReadonlyMap<string, Readonly<Record<string, Condition>>>,
): Record<string, Condition> {
  const joined: Record<string, Condition> = {};
  for (const domain of domains)
    for (const [dataplane, fact] of Object.entries(programmed.get(domain) ?? {})) {
      const known = joined[dataplane];
      if (known === undefined || (known.holds && !fact.holds)) joined[dataplane] = fact;
    }
  return joined;
}
