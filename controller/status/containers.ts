import type { Condition, Reading } from '../sources/source.ts';
import type { RouteStatus } from './route-conditions.ts';

/** One site of a labelled container: what its source found, and where it is served. */
export type ContainerStatus = Pick<Reading, 'id' | 'origin' | 'domains' | 'accepted' | 'resolved' | 'address' | 'change'> & {
  readonly container: string;
  /** From `sluice.<name>.domain`; null for the site without a name. */
  readonly site: string | null;
  /** The other containers in its pools. */
  readonly others: Reading['peers'];
  /** By data plane: whether all its domains are served there. */
  readonly programmed: Readonly<Record<string, Condition>>;
};

/** Joins what sources know about containers with the state of their routes on the data planes. */
export function containersOf(readings: readonly Reading[], routes: readonly RouteStatus[]): ContainerStatus[] {
  const programmed = new Map(routes.map((route) => [keyOf(route.source, route.domain), route.programmed]));
  return readings
    .filter(({ kind }) => kind === 'container')
    .map(({ id, name, origin, section, domains, peers, accepted, resolved, address, change, source }) => {
      // One with invalid labels may still have an address: its last good version is routed.
      const isRouted = accepted.holds || address !== null;
      const served = isRouted ? domains.map((domain) => programmed.get(keyOf(source, domain)) ?? {}) : [];
      const about = { id, container: name, origin, site: section, domains, others: peers };
      return { ...about, accepted, resolved, address, change, programmed: together(served) };
    });
}

const keyOf = (source: string, domain: string): string => `${source} ${domain}`;

/** A site with several domains is served where all of them are. */
function together(served: readonly RouteStatus['programmed'][]): Record<string, Condition> {
  const joined: Record<string, Condition> = {};
  for (const programmed of served)
    for (const [dataplane, condition] of Object.entries(programmed)) {
      const known = joined[dataplane];
      if (known === undefined || (known.holds && !condition.holds)) joined[dataplane] = condition;
    }
  return joined;
}
