import type { RouteInput, RouteSpec } from '../../../../shared/route.ts';
import type { Domain } from '../../../../shared/values/host.ts';
import { createRouteReader } from '../../route-reader.ts';
import type { UndatedProblem } from '../../source.ts';
import type { Ingress } from '../objects/ingress.ts';
import { byAge } from '../objects/meta.ts';
import { ingressStatusOf } from '../status/ingress-status.ts';
import { Backends } from './backends.ts';
import { Certificates } from './certificates.ts';
import { type Claim, originOf, problemOf, type Request } from './claim.ts';
import type { ClusterSnapshot, ClusterTranslation } from './cluster-snapshot.ts';
import { routeOfHost } from './host-route.ts';
import { isOurs, requestOf } from './ingress-claims.ts';
import { readingOf } from './reading.ts';
import { refusalsOf } from './refusals.ts';
import { isAnnotated, requestOfService } from './service-claims.ts';

/**
 * Translates the objects of a cluster to routes: the same snapshot gives the same bytes. Objects share hosts; of two that claim the same
 * path of a host, the older one wins, and the other's remaining paths are served.
 */
export function translate(snapshot: ClusterSnapshot): ClusterTranslation {
  const { requests, lastGood } = requestsOf(snapshot);
  const problems = requests.flatMap((request) => request.problems);
  const hosts: Hosts = new Map();
  for (const request of requests) for (const claim of request.claims) problems.push(...join(hosts, claim));
  const certificates = new Certificates(snapshot.secrets);
  const routes: RouteSpec[] = [];
  for (const [host, paths] of [...hosts].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const [first, ...others] = paths.values();
    if (first === undefined) continue;
    const https = httpsOf(host, [first, ...others], certificates, problems);
    const route = checked(routeOfHost([first, ...others], https));
    if ('domain' in route) routes.push(route);
    else problems.push(problemOf(first.owner, host, 'bad_route', `${host} can't be routed: ${route.reason}`));
  }
  const readings = requests.map((request) => readingOf(request, hosts));
  const statuses = [...snapshot.ingresses.values()].map((ingress) => ingressStatusOf(ingress, isOurs(ingress, snapshot)));
  const owners = requests.map(({ owner }) => owner);
  return { routes, certificates: certificates.list(), problems, readings, statuses, refusals: refusalsOf(owners, problems), lastGood };
}

/** What the objects request, the oldest first. */
function requestsOf(snapshot: ClusterSnapshot) {
  const backends = new Backends(snapshot);
  const lastGood = new Map<string, Ingress>();
  const objects = [
    ...[...snapshot.ingresses.values()].filter((ingress) => isOurs(ingress, snapshot)),
    ...[...snapshot.services.values()].filter(isAnnotated),
  ].sort(byAge);
  const requests = objects.map((object): Request => {
    if (!('rules' in object)) return requestOfService(object, backends);
    const before = snapshot.lastGood.get(object.meta.uid);
    const request = requestOf(object, before, snapshot, backends);
    const good = request.reasons.length === 0 ? object : before;
    if (good) lastGood.set(object.meta.uid, good);
    return request;
  });
  return { requests, lastGood };
}

/** The claims of each host by their path. */
type Hosts = Map<Domain, Map<string, Claim>>;

const keyOf = ({ path }: Claim): string => (path.kind === 'default' ? path.kind : `${path.kind} ${path.path}`);

/** @returns the problem if an older object has the path already. */
function join(hosts: Hosts, claim: Claim): UndatedProblem[] {
  const { owner, host, path } = claim;
  const paths = hosts.get(host) ?? new Map<string, Claim>();
  hosts.set(host, paths);
  const key = keyOf(claim);
  const taken = paths.get(key);
  if (!taken) {
    paths.set(key, claim);
    return [];
  }
  const isTwice = taken.owner.meta.uid === owner.meta.uid;
  const whose = isTwice ? 'named twice by this object; the first one holds' : `taken by ${originOf(taken.owner)}, which is older`;
  return [problemOf(owner, host, 'path_taken', `${host}: ${path.kind === 'default' ? 'the default backend' : path.path} is ${whose}`)];
}

/** The first object that says anything of HTTPS decides for its host. Without its Secret the host stays on HTTP, for it may be on its way. */
function httpsOf(host: Domain, claims: readonly Claim[], certificates: Certificates, problems: UndatedProblem[]): RouteInput['https'] {
  for (const { owner, https } of claims) {
    if (https.kind === 'off') continue;
    if (https.kind === 'auto') return 'auto';
    const why = certificates.use(`${https.namespace}/${https.secret}`, host);
    if (why === null) return 'provided';
    problems.push(problemOf(owner, host, 'no_certificate', `${why}; ${host} is served over HTTP alone until it is there`));
    return 'off';
  }
  return 'off';
}

const checked = createRouteReader();
