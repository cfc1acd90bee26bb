import { LABEL_PREFIX } from '../../../../shared/name.ts';
import type { Domain } from '../../../../shared/values/host.ts';
import type { SiteLabels } from '../../labels/read-labels.ts';
import { MAX_PROBLEMS_PER_ORIGIN, type ProblemList } from '../../problem-list.ts';
import type { UndatedProblem } from '../../source.ts';
import type { Container } from '../engine/container.ts';
import type { AddressChoice } from '../network/choose-address.ts';
import { DOCKER_SOURCE } from './engine-snapshot.ts';
import { originOf } from './site-reading.ts';

/** One container's part in the pool of a domain. */
export type Member = { readonly container: Container; readonly site: SiteLabels; readonly choice: AddressChoice };

/** The members of a domain's pool, the oldest first; never empty. */
export type PoolMembers = ReadonlyMap<Domain, readonly Member[]>;

/** @returns the problem if another site of the same container is already in the pool. */
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
 * The container whose labels apply to the pool: the oldest one, ignoring draining ones while others remain, so that new labels apply as
 * soon as the old container is stopped.
 */
export function leaderOf(pool: readonly Member[], draining: ReadonlySet<string>): Member {
  const [oldest] = pool as readonly [Member];
  return pool.find(({ container }) => !draining.has(container.id)) ?? oldest;
}

/**
 * Labels of members that do not apply because the leader's differ, by member. Left out are draining members, and those with so many problems
 * that no more are reported: comparing all of many containers that share domains would take long.
 */
export function* differencesOf(
  domain: Domain,
  pool: readonly Member[],
  draining: ReadonlySet<string>,
  problems: Pick<ProblemList, 'isFull'>,
): Generator<Iterable<UndatedProblem>, undefined> {
  const leader = leaderOf(pool, draining);
  for (const { container, site } of pool) {
    if (container === leader.container || draining.has(container.id) || problems.isFull(originOf(container))) continue;
    yield differencesFrom(leader, { container, site }, domain);
  }
}

function* differencesFrom(
  leader: Member,
  { container, site }: Pick<Member, 'container' | 'site'>,
  domain: Domain,
): Generator<UndatedProblem> {
  for (const [label, holds] of differences(leader.site, site))
    yield {
      source: DOCKER_SOURCE,
      origin: originOf(container),
      domain,
      code: 'labels_differ',
      message: `${LABEL_PREFIX}${label} is ${holds === undefined ? 'absent' : `"${holds.slice(0, 200)}"`} in ${originOf(leader.container)}, which is older: that holds for ${domain}`,
    };
}

type Differences = readonly (readonly [label: string, first: string | undefined])[];

/** Two sites may share thousands of domains, and labels never change. */
const known = new WeakMap<SiteLabels['common'], WeakMap<SiteLabels['common'], Differences>>();

/** Labels with different values in two sites, each with the first site's value. */
function differences({ common: first }: SiteLabels, { common: second }: SiteLabels): Differences {
  const ofFirst = known.get(first) ?? new WeakMap<SiteLabels['common'], Differences>();
  known.set(first, ofFirst);
  const before = ofFirst.get(second);
  if (before) return before;
  const labels = [...new Set([...first.keys(), ...second.keys()])].filter((label) => first.get(label) !== second.get(label)).sort();
  // More would not be reported.
  const found = labels.slice(0, MAX_PROBLEMS_PER_ORIGIN).map((label) => [label, first.get(label)] as const);
  ofFirst.set(second, found);
  return found;
}
