import { LABEL_PREFIX } from '../../../../shared/name.ts';
import type { RouteSpec, UpstreamSpec } from '../../../../shared/route.ts';
import type { Domain } from '../../../../shared/values/host.ts';
import { type InvalidSite, type ReadLabels, readLabels, type SiteLabels } from '../../labels/read-labels.ts';
import { ProblemList } from '../../problem-list.ts';
import { createRouteReader } from '../../route-reader.ts';
import type { UndatedProblem } from '../../source.ts';
import type { Container } from '../engine/container.ts';
import { type AddressChoice, chooseAddress } from '../network/choose-address.ts';
import { DOCKER_SOURCE, type EngineSnapshot, type SiteReading, type Translation } from './engine-snapshot.ts';
import { type LastGood, type ReadContainer, recall, remember } from './last-good.ts';
import { peersIn } from './peers.ts';
import { differencesOf, join, leaderOf, type Member } from './pools.ts';
import { invalidReading, keptReading, originOf, STAYS, validReading } from './site-reading.ts';

/**
 * Translates containers to routes: the same snapshot gives the same bytes. All containers of a domain form one pool, to which the labels
 * of the oldest remaining one apply. Stopped containers are in no pool, and a domain without running ones has no route here.
 */
export function translate(snapshot: EngineSnapshot): Translation {
  const read = snapshot.containers.map((container) => ({ container, labels: labelsOf(container) }));
  const lastGood = remember(snapshot.lastGood, read, snapshot.now);
  const { pools, problems, readings } = collect(snapshot, read, lastGood);
  const routes: RouteSpec[] = [];
  for (const [domain, pool] of [...pools].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const differing of differencesOf(domain, pool, snapshot.draining, problems)) problems.add(differing);
    const route = routeOf(domain, pool, snapshot.draining);
    if ('domain' in route) routes.push(route);
    else problems.add([refusal(domain, leaderOf(pool, snapshot.draining), route.reason)]);
  }
  reader.keepOnly(new Set<string>(pools.keys()));
  const peers = peersIn(pools);
  return { routes, problems: problems.list(), readings: readings.map((reading) => ({ ...reading, peers: peers(reading) })), lastGood };
}

/** What each container wants, one after the other. */
function collect(snapshot: EngineSnapshot, read: readonly ReadContainer[], lastGood: LastGood) {
  const problems = new ProblemList('container');
  const readings: SiteReading[] = [];
  const pools = new Map<Domain, Member[]>();
  const running = read.filter(({ container }) => isLive(container));
  const before = recall(lastGood, running);
  for (const { container, labels } of read) {
    const isHere = isLive(container) || container.status === 'created';
    if (isHere) problems.add(labels.warnings.map((warning) => ({ ...about(container), ...warning })));
    const claims = claimsOf(labels, (one) => (isHere ? before(container, one) : undefined));
    if (isHere && claims.length === 0 && labels.warnings.length > 0)
      readings.push(
        invalidReading(container, { site: null, domains: [], reasons: [...labels.warnings.map(({ message }) => message), NO_DOMAIN] }),
      );
    for (const { site, bad } of claims) {
      if (bad && isHere) problems.add(mistakes(container, bad, site));
      if (!site) {
        readings.push(invalidReading(container, bad));
        continue;
      }
      const choice = chooseAddress(container, site, snapshot);
      const reading = validReading(container, site, choice, snapshot.draining.has(container.id));
      readings.push(bad ? keptReading(reading, bad) : reading);
      if (!isLive(container)) continue;
      // One that waits for its next start has no address, on none of its networks.
      if (choice.address === null && container.status !== 'restarting') problems.add([unreachable(container, site, choice)]);
      for (const domain of site.domains) problems.add(join(pools, domain, { container, site, choice }));
    }
  }
  return { pools, problems, readings };
}

/** Of a container whose labels are all unknown: one of them may have been meant to be its domain. */
const NO_DOMAIN = `${LABEL_PREFIX}domain is missing`;

const isLive = ({ status }: Container): boolean => status === 'running' || status === 'paused' || status === 'restarting';

function labelsOf({ labels }: Container): ReadLabels {
  const known = remembered.get(labels);
  if (known) return known;
  const read = readLabels(labels);
  remembered.set(labels, read);
  return read;
}

/** Labels never change during a container's life. */
const remembered = new WeakMap<object, ReadLabels>();

/** What a container wants routed: a site with valid labels, its last good version, or only its errors. */
type Claim = { readonly site: SiteLabels; readonly bad: InvalidSite | undefined } | { readonly site: undefined; readonly bad: InvalidSite };

/** Sites with valid labels come first, so that they get a domain before a last good version does. */
function claimsOf({ sites, bad }: ReadLabels, before: (bad: InvalidSite) => SiteLabels | undefined): Claim[] {
  const spoilt = bad.map((one): Claim => {
    const site = before(one);
    return site ? { site, bad: one } : { site, bad: one };
  });
  return [...sites.map((site) => ({ site, bad: undefined })), ...spoilt];
}

const about = (container: Container) => ({ source: DOCKER_SOURCE, origin: originOf(container) });

/** Reported for the domains in the labels, and for those that stay. */
function* mistakes(
  container: Container,
  { domains, reasons }: InvalidSite,
  stays: SiteLabels | undefined,
): Generator<UndatedProblem, undefined> {
  const concerned = new Set([...domains, ...(stays?.domains ?? [])]);
  for (const reason of reasons)
    for (const domain of concerned.size === 0 ? [null] : concerned)
      yield { ...about(container), domain, code: 'bad_label', message: stays ? `${reason}; ${STAYS}` : reason };
}

function unreachable(container: Container, { domains }: SiteLabels, choice: AddressChoice): UndatedProblem {
  const change = 'change' in choice ? `; ${choice.change}` : '';
  return {
    ...about(container),
    domain: domains[0] ?? null,
    code: 'no_address',
    message: `${choice.reason}${change}`,
  };
}

function refusal(domain: Domain, { container }: Member, reason: string): UndatedProblem {
  return { ...about(container), domain, code: 'bad_route', message: `${domain} can't be routed: ${reason}` };
}

/** @returns why there is none if the engine's data cannot form a route. */
function routeOf(domain: Domain, pool: readonly Member[], draining: ReadonlySet<string>): RouteSpec | { readonly reason: string } {
  const { container, site } = leaderOf(pool, draining);
  const upstreams = new Map<string, { address: string; id: string; weight?: number; state: UpstreamSpec['state']; probe?: true }>();
  for (const member of pool) {
    const { address } = member.choice;
    const { weight } = member.site;
    if (address !== null && member.container.status !== 'restarting' && !upstreams.has(address))
      upstreams.set(address, { address, id: member.container.id, ...(weight !== 1 && { weight }), ...stateOf(member.container, draining) });
  }
  const targets = [...upstreams.values()];
  return reader.read({
    tls: false,
    ...site.members,
    domain,
    upstream: targets[0]?.address ?? null,
    source: DOCKER_SOURCE,
    upstreams: targets,
    origin: originOf(container),
  });
}

/** Without a HEALTHCHECK it is unknown whether the app listens: the data plane probes it and adds it to rotation itself. */
function stateOf({ id, status, health }: Container, draining: ReadonlySet<string>): { state: UpstreamSpec['state']; probe?: true } {
  if (status === 'paused') return { state: 'paused' };
  if (draining.has(id)) return { state: 'draining' };
  return health === 'none' ? { state: 'starting', probe: true } : { state: health };
}

const reader = createRouteReader();
