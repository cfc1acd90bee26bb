import type { ObjectCondition, Reading } from '../sources/source.ts';
import type { RouteStatus } from './route-conditions.ts';

/** One site of a labelled container: what its source found, and where it is served. */
export type ContainerStatus = Pick<Reading, 'id' | 'origin' | 'domains' | 'accepted' | 'resolved' | 'address' | 'change'> & {
  readonly container: string;
  /** From `sluice.<name>.domain`; null for the site without a name. */
  readonly site: string | null;
  /** The other containers in its pools. */
  readonly others: Reading['peers'];
  /** By data plane: whether all its domains are served there. */
  readonly programmed: Readonly<Record<string, ObjectCondition>>;
};

/** An object of a cluster, such as an Ingress: what the source found, and where it is served. */
export type ClusterObjectStatus = Pick<
  Reading,
  'kind' | 'name' | 'id' | 'origin' | 'domains' | 'accepted' | 'resolved' | 'address' | 'change'
> & {
  /** The other objects with paths of its hosts. */
  readonly others: Reading['peers'];
  /** By data plane: whether all its domains are served there. */
  readonly programmed: Readonly<Record<string, ObjectCondition>>;
};

/** Joins what sources know about containers with the state of their routes on the data planes. */
export function containersOf(readings: readonly Reading[], routes: readonly RouteStatus[]): ContainerStatus[] {
  const programmed = programmedBy(routes);
  return readings
    .filter(({ kind }) => kind === 'container')
    .map(({ id, name, origin, section, domains, peers, accepted, resolved, address, change, source }) => {
      const about = { id, container: name, origin, site: section, domains, others: peers };
      // One with invalid labels may still have an address: its last good version is routed.
      const served = accepted.holds || address !== null ? programmed(source, domains) : {};
      return { ...about, accepted, resolved, address, change, programmed: served };
    });
}

/** The same for the objects of a cluster. */
export function clusterObjectsOf(readings: readonly Reading[], routes: readonly RouteStatus[]): ClusterObjectStatus[] {
  const programmed = programmedBy(routes);
  return readings
    .filter(({ kind }) => kind !== 'container' && kind !== 'file')
    .map(({ kind, name, id, origin, domains, peers, accepted, resolved, address, change, source }) => {
      const about = { kind, name, id, origin, domains, others: peers };
      const served = accepted.holds || resolved.holds ? programmed(source, domains) : {};
      return { ...about, accepted, resolved, address, change, programmed: served };
    });
}

function programmedBy(routes: readonly RouteStatus[]): (source: string, domains: readonly string[]) => Record<string, ObjectCondition> {
  // Objects that requested the same domain and lost it are listed there too.
  const wanted = routes.filter(({ accepted }) => accepted.holds);
  const programmed = new Map(wanted.map((route) => [keyOf(route.source, route.domain), route.programmed]));
  return (source, domains) => together(domains.map((domain) => programmed.get(keyOf(source, domain)) ?? {}));
}

const keyOf = (source: string, domain: string): string => `${source} ${domain}`;

/** A site with several domains is served where all of them are. */
function together(served: readonly RouteStatus['programmed'][]): Record<string, ObjectCondition> {
  const joined: Record<string, ObjectCondition> = {};
  for (const programmed of served)
    for (const [dataplane, condition] of Object.entries(programmed)) {
      const known = joined[dataplane];
      if (known === undefined || (known.holds && !condition.holds)) joined[dataplane] = condition;
    }
  return joined;
}
