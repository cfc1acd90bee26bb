import { LABEL_PREFIX } from '../../../../shared/name.ts';
import type { Domain } from '../../../../shared/values/host.ts';
import type { UndatedProblem } from '../../source.ts';
import type { Container } from '../engine/container.ts';
import type { SiteLabels } from '../labels/read-labels.ts';
import type { AddressChoice } from '../network/choose-address.ts';
import { DOCKER_SOURCE } from './engine-snapshot.ts';
import { originOf } from './site-reading.ts';

/** One container's part in the pool of a domain. */
export type Member = { readonly container: Container; readonly site: SiteLabels; readonly choice: AddressChoice };

/** The members of a domain's pool, the oldest first; never empty. */
export type Pools = ReadonlyMap<Domain, readonly Member[]>;

/** @returns what is wrong where another site of the same container is in the pool already. */
export function join(pools: Map<Domain, Member[]>, domain: Domain, member: Member): UndatedProblem[] {
  const pool = pools.get(domain);
  if (!pool) pools.set(domain, [member]);
  else if (pool.at(-1)?.container === member.container)
    return [
      {
        source: DOCKER_SOURCE,
        origin: originOf(member.container),
        domain,
        code: 'domain_taken',
        message: `${domain} is named by two sites of this container; the first one holds`,
      },
    ];
  else pool.push(member);
  return [];
}

/**
 * Whose labels hold for the pool: the oldest one's, but for those that are on their way out while another stays, so
 * that new labels hold as soon as the old container is told to end.
 */
export function leaderOf(pool: readonly Member[], draining: ReadonlySet<string>): Member {
  const [oldest] = pool as readonly [Member];
  return pool.find(({ container }) => !draining.has(container.id)) ?? oldest;
}

/** What of the members' labels does not hold, since the leader's do. Of those on their way out nothing is told. */
export function differencesOf(domain: Domain, pool: readonly Member[], draining: ReadonlySet<string>): UndatedProblem[] {
  const leader = leaderOf(pool, draining);
  return pool
    .filter(({ container }) => container !== leader.container && !draining.has(container.id))
    .flatMap(({ container, site }) =>
      differences(leader.site, site).map(([label, holds]) => ({
        source: DOCKER_SOURCE,
        origin: originOf(container),
        domain,
        code: 'labels_differ',
        message: `${LABEL_PREFIX}${label} is ${holds === undefined ? 'absent' : `"${holds.slice(0, 200)}"`} in ${originOf(leader.container)}, which is older: that holds for ${domain}`,
      })),
    );
}

/** Labels that two sites say differently, each with what the first one says. */
function differences({ common: first }: SiteLabels, { common: second }: SiteLabels): [label: string, first: string | undefined][] {
  const labels = [...new Set([...first.keys(), ...second.keys()])].sort();
  return labels.filter((label) => first.get(label) !== second.get(label)).map((label) => [label, first.get(label)]);
}
