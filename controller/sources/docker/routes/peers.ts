import type { Domain } from '../../../../shared/values/host.ts';
import type { Reading } from '../../source.ts';
import type { PoolMembers } from './pools.ts';

/** A pool may have hundreds of peers, all of which can be found by its domain. */
const MAX_NAMED = 10;

/** The other containers in the pools that a site is in or wants to join, the oldest first. */
export function peersIn(pools: PoolMembers): (site: { readonly id: string; readonly domains: readonly Domain[] }) => Reading['peers'] {
  const unions = new Map<string, ReadonlyMap<string, string>>();
  return ({ id, domains }) => {
    const key = domains.join(' ');
    const all = unions.get(key) ?? namesIn(pools, domains);
    unions.set(key, all);
    const names: string[] = [];
    for (const [other, name] of all) {
      if (names.length === MAX_NAMED) break;
      if (other !== id) names.push(name);
    }
    return { count: all.size - (all.has(id) ? 1 : 0), names };
  };
}

/** The names of all members, by id. */
function namesIn(pools: PoolMembers, domains: readonly Domain[]): Map<string, string> {
  const members = domains.flatMap((domain) => pools.get(domain) ?? []);
  return new Map(members.map(({ container }) => [container.id, container.name]));
}
