import type { RouteInput, RouteSpec } from '../../../../shared/route.ts';
import type { Domain } from '../../../../shared/values/host.ts';
import { createRouteReader } from '../../route-reader.ts';
import type { UndatedProblem } from '../../source.ts';
import type { GatewayHost } from '../gateway/gateway-hosts.ts';
import { gatewayProblems, gatewayReadings } from '../gateway/gateway-readings.ts';
import { translateGateways } from '../gateway/translate-gateways.ts';
import type { Ingress } from '../objects/ingress.ts';
import { byAge } from '../objects/meta.ts';
import { ingressStatusOf } from '../status/ingress-status.ts';
import { Backends } from './backends.ts';
import { Certificates } from './certificates.ts';
import { type Claim, type Owner, originOf, problemOf, type Request } from './claim.ts';
import type { ClusterSnapshot, ClusterTranslation } from './cluster-snapshot.ts';
import { routeOfGatewayHost, routeOfHost } from './host-route.ts';
import { isOurs, requestOf } from './ingress-claims.ts';
import { readingOf } from './reading.ts';
import { refusalsOf } from './refusals.ts';
import { isAnnotated, requestOfService } from './service-claims.ts';

/**
 * Translates the objects of a cluster to routes: the same snapshot gives the same bytes. Objects share hosts; of two that claim the same
 * path of a host, the older one wins, and the other's remaining paths are served.
 */
export function translate(snapshot: ClusterSnapshot): ClusterTranslation {
  const backends = new Backends(snapshot);
  const { requests, lastGood } = requestsOf(snapshot, backends);
  const gateways = translateGateways(snapshot, backends, snapshot.portMap);
  const problems = [...requests.flatMap((request) => request.problems), ...gatewayProblems(gateways)];
  const hosts: Hosts = new Map();
  for (const request of requests) for (const claim of request.claims) problems.push(...join(hosts, claim));
  const certificates = new Certificates(snapshot.secrets);
  for (const { secret, place } of gateways.defaults) certificates.presentDefault(secret, place);
  const routes: RouteSpec[] = [];
  for (const host of [...new Set([...hosts.keys(), ...gateways.hosts.keys()])].sort()) {
    const claims = [...(hosts.get(host as Domain)?.values() ?? [])];
    const route = routeOf(host as Domain, claims, gateways.hosts.get(host), certificates, problems);
    if ('reason' in route) problems.push(problemOf(route.owner, host, 'bad_route', `${host} can't be routed: ${route.reason}`));
    else routes.push(route);
  }
  const readings = [...requests.map((request) => readingOf(request, hosts)), ...gatewayReadings(gateways)];
  const statuses = [
    ...[...snapshot.ingresses.values()].map((ingress) => ingressStatusOf(ingress, isOurs(ingress, snapshot))),
    ...gateways.statuses,
  ];
  const owners = requests.map(({ owner }) => owner);
  return { routes, certificates: certificates.list(), problems, readings, statuses, refusals: refusalsOf(owners, problems), lastGood };
}

/** The route of a host, or why there is none. */
function routeOf(
  host: Domain,
  claims: readonly Claim[],
  gatewayHost: GatewayHost | undefined,
  certificates: Certificates,
  problems: UndatedProblem[],
): RouteSpec | { readonly owner: Owner; readonly reason: string } {
  const [first, ...others] = claims;
  const https = first ? httpsOf(host, [first, ...others], certificates, problems) : 'off';
  const owner: Owner | undefined = first?.owner ?? gatewayOwner(gatewayHost);
  if (gatewayHost) {
    const isPresented = gatewayHost.secrets.map((secret) => certificates.present(secret, host)).includes(true);
    const route = checked(routeOfGatewayHost(gatewayHost, claims, isPresented ? 'provided' : https));
    return 'domain' in route ? route : { owner: owner as Owner, reason: route.reason };
  }
  const route = checked(routeOfHost([first as Claim, ...others], https));
  return 'domain' in route ? route : { owner: owner as Owner, reason: route.reason };
}

const gatewayOwner = (host: GatewayHost | undefined): Owner | undefined => {
  const [bound] = host?.listeners ?? [];
  return bound && { kind: 'gateway', meta: bound.gateway.meta };
};

/** What the objects request, the oldest first. */
function requestsOf(snapshot: ClusterSnapshot, backends: Backends) {
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
