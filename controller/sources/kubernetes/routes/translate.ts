import type { RouteInput, RouteSpec } from '../../../../shared/route.ts';
import { CATCH_ALL, type Domain, wildcardOf } from '../../../../shared/values/host.ts';
import { ProblemList } from '../../problem-list.ts';
import { createRouteReader } from '../../route-reader.ts';
import type { UndatedProblem } from '../../source.ts';
import { Backends } from '../backends/backends.ts';
import type { OtherOwner } from '../gateway/hosts/host-owners.ts';
import type { BoundListener } from '../gateway/listeners.ts';
import { gatewayProblems, gatewayReadings } from '../gateway/status/gateway-readings.ts';
import { type GatewayTranslation, translateGateways } from '../gateway/translate-gateways.ts';
import type { Ingress } from '../objects/ingress.ts';
import { byAge, isOlder, type Meta } from '../objects/meta.ts';
import { KUBERNETES_SOURCE, problemOf } from '../objects/owner.ts';
import { isSameList } from '../objects/same-list.ts';
import { EARLIER_STAYS } from '../objects/secret-certificate.ts';
import { ingressStatusOf } from '../status/ingress-status.ts';
import { SecretCertificates } from './certificates.ts';
import type { PathClaim, Request } from './claim.ts';
import type { ClusterSnapshot, ClusterTranslation } from './cluster-snapshot.ts';
import { CoveringCertificates } from './covering-certificates.ts';
import { HostClaims } from './host-claims.ts';
import { type GatewaySite, ownClaims, ownerOf, routeOfGatewayHost, routeOfHost } from './host-route.ts';
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
  const claimed = new Set<string>(requests.flatMap(({ claims }) => claims.map(({ host }) => host)));
  const gateways = translateGateways(snapshot, backends, snapshot.portMap, (listeners) => oldestOf(requests, snapshot, listeners), claimed);
  const problems = [...requests.flatMap((request) => request.problems), ...gatewayProblems(gateways)];
  const hosts = new HostClaims(gateways.hosts);
  for (const { claims, isRefused } of requests)
    for (const claim of isRefused ? [] : claims) {
      const problem = hosts.join(claim);
      if (problem !== null) problems.push(problem);
    }
  // What is not accepted takes no path from others, nor does it turn HTTPS on for their hosts.
  const ofOthers = new Set<string>([...hosts.names(), ...gateways.hosts.keys(), ...gateways.passthroughs.keys()]);
  for (const { claims, isRefused } of requests)
    for (const claim of isRefused ? claims : []) hosts.join(ofOthers.has(claim.host) ? { ...claim, https: NO_HTTPS } : claim);
  const certificates = new SecretCertificates(snapshot.secrets);
  for (const { secret, place } of gateways.defaults) certificates.presentDefault(secret, place);
  const routes: RouteSpec[] = [];
  const owners = new Map<string, Meta>();
  const all = new Set<string>([...hosts.names(), ...gateways.hosts.keys(), ...gateways.passthroughs.keys()]);
  for (const host of [...all].sort()) {
    const claims = hosts.of(host as Domain);
    const site = siteOf(host as Domain, gateways);
    const owner = ownerOf(site?.http ?? null, claims);
    if (owner !== null) owners.set(host, owner);
    const namespace = owner?.namespace ?? null;
    const securing = ownClaims(hosts.securing(host as Domain), namespace);
    const isPresented = site !== null && presentsOne(host, secretsOf(site, securing), securing, certificates, problems);
    const usual = isPresented ? 'provided' : httpsOf(host as Domain, securing, certificates, problems);
    // Wildcards come first in this order.
    const over = wildcardOf(host as Domain);
    const isOver = over !== undefined && over !== host && certificates.isPresented(over);
    // Its certificate may be that of a younger listener.
    const ofWildcard = isOver ? (gateways.hosts.get(over)?.presenting?.owner.meta ?? owners.get(over)) : undefined;
    const isForeign = usual === 'off' && ofWildcard !== undefined && ofWildcard.namespace !== namespace;
    const https = isForeign && presentsDefault(host, site, certificates) ? 'provided' : usual;
    const isOfClaim = ownClaims(claims, namespace).length > 0;
    if (isForeign && https === 'off' && isOfClaim) certificates.presentCovering(olderDefaults(gateways, ofWildcard, owner), host);
    const route = routeOf(claims, site, https, securing);
    if ('domain' in route) routes.push(route);
    else problems.push({ ...badRoute(host, route.reason), origin: route.origin });
  }
  for (const host of read.keys()) if (!all.has(host)) read.delete(host);
  reader.keepOnly(all);
  const readings = [...requests.map((request) => readingOf(request, hosts)), ...gatewayReadings(gateways)];
  const statuses = [
    ...[...snapshot.ingresses.values()].map((ingress) => ingressStatusOf(ingress, isOurs(ingress, snapshot))),
    ...gateways.statuses,
  ];
  const listed = limited(problems);
  return {
    routes,
    certificates: certificates.list(owners, (host) => siteOf(host as Domain, gateways) !== null),
    settings: gateways.settings,
    problems: listed,
    readings,
    statuses,
    refusals: refusalsOf(
      requests.map(({ owner }) => owner),
      listed,
    ),
    lastGood,
  };
}

const NO_HTTPS = { kind: 'off' } as const;

/**
 * The oldest object that claims a host, by host, and the namespaces of all that do. `requests` has the oldest first. The certificate for
 * every host counts as a setting for HTTPS of the hosts that it is presented for.
 */
function oldestOf(requests: readonly Request[], snapshot: ClusterSnapshot, listeners: readonly BoundListener[]): Map<string, OtherOwner> {
  const covering = new CoveringCertificates(requests, snapshot.secrets, listeners);
  const oldest = new Map<string, OtherOwner & { readonly https: Map<string, boolean> }>();
  const taken = new Set<string>();
  for (const { claims, owner, isRefused } of requests)
    for (const { host, path, https } of isRefused ? [] : claims) {
      const key = path.kind === 'default' ? host : `${host} ${path.kind} ${path.path}`;
      // As in `HostClaims.securing`.
      const isSecuring = https.kind !== 'off' && (owner.kind === 'ingress' || !taken.has(key));
      taken.add(key);
      const one = oldest.get(host) ?? { meta: owner.meta, https: new Map(), covering: covering.of(host, owner.meta.namespace) };
      const { namespace } = owner.meta;
      one.https.set(namespace, one.https.get(namespace) === true || isSecuring || covering.isCovered(host, namespace));
      oldest.set(host, one);
    }
  return oldest;
}

function limited(problems: readonly UndatedProblem[]): readonly UndatedProblem[] {
  const list = new ProblemList('object');
  for (const problem of problems) list.add([problem]);
  return list.list();
}

const badRoute = (host: string, reason: string) => ({
  source: KUBERNETES_SOURCE,
  domain: host,
  code: 'bad_route',
  message: `${host} can't be routed: ${reason}`,
});

/** How Gateways serve a host; null if they don't. */
function siteOf(host: Domain, { hosts, passthroughs }: GatewayTranslation): GatewaySite | null {
  const [http, passed] = [hosts.get(host) ?? null, passthroughs.get(host) ?? null];
  return http === null && passed === null ? null : { name: host === CATCH_ALL ? null : host, http, passthroughs: passed };
}

/** The route of a host, or why there is none. */
function routeOf(
  claims: readonly PathClaim[],
  site: GatewaySite | null,
  https: RouteInput['https'],
  securing: readonly PathClaim[],
): RouteSpec | { readonly origin: string; readonly reason: string } {
  const [first, ...others] = claims;
  if (site === null) return routeOfClaims([first as PathClaim, ...others], https, redirectOf(securing));
  return routeOfInput({ ...redirectOf(securing), ...routeOfGatewayHost(site, claims, https, securing.length > 0) });
}

/** That of the object that turns HTTPS on, which may have no path of the host. */
const redirectOf = ([first]: readonly PathClaim[]): Pick<RouteInput, 'https_redirect'> =>
  first?.members.https_redirect === false ? { https_redirect: false } : {};

/** A host that belongs to an object with a setting for HTTPS gets no certificate from Gateways of others. */
function secretsOf({ http }: GatewaySite, securing: readonly PathClaim[]): readonly string[] {
  if (http === null || (!http.isOwnSecret && securing.length > 0)) return [];
  return http.presenting?.secrets ?? [];
}

/**
 * A host has one certificate: that of a listener, unless that is not for the host while the object that decides has one that is, or wants
 * one to be ordered.
 */
function presentsOne(
  host: string,
  secrets: readonly string[],
  [securing]: readonly PathClaim[],
  certificates: SecretCertificates,
  problems: UndatedProblem[],
): boolean {
  if (secrets.length === 0) return false;
  if (certificates.presentCovering(secrets, host)) return true;
  const https = securing?.https;
  if (https?.kind === 'auto') return false;
  const isUsed = https?.kind === 'secret' && certificates.use(`${https.namespace}/${https.secret}`, host) === null;
  if (securing !== undefined && isUsed) tellEarlier(securing, certificates, problems);
  return isUsed || certificates.presentFirst(secrets, host);
}

/** A host with a default certificate keeps it under a wildcard of another namespace that has one, which would come before. */
function presentsDefault(host: string, site: GatewaySite | null, certificates: SecretCertificates): boolean {
  const secrets = site?.http?.ownDefaults ?? [];
  return certificates.presentCovering(secrets, host) || certificates.presentFirst(secrets, host);
}

/** The default certificates that were there before a wildcard with a certificate, and still would be presented for an Ingress below it. */
const olderDefaults = ({ defaults }: GatewayTranslation, ofWildcard: Meta, owner: Meta | null): string[] => {
  // A younger host never had one of others: it had that of the wildcard.
  const isKept = owner !== null && isOlder({ meta: owner }, { meta: ofWildcard });
  return defaults.flatMap(({ secret, meta }) =>
    (isKept ? meta.namespace !== ofWildcard.namespace : meta.namespace === owner?.namespace) && isOlder({ meta }, { meta: ofWildcard })
      ? [secret]
      : [],
  );
};

function withOrigin(input: RouteInput): RouteSpec | { readonly origin: string; readonly reason: string } {
  const route = reader.read(input);
  return 'domain' in route ? route : { origin: input.origin ?? KUBERNETES_SOURCE, reason: route.reason };
}

/** The requests of the objects, the oldest first. */
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

/**
 * The first object of the host's namespace with a setting for HTTPS decides. While its Secret is missing the host stays on HTTP, since the
 * Secret may be about to be created.
 */
function httpsOf(
  host: Domain,
  securing: readonly PathClaim[],
  certificates: SecretCertificates,
  problems: UndatedProblem[],
): RouteInput['https'] {
  for (const claim of securing) {
    const { owner, https } = claim;
    if (https.kind === 'off') continue;
    if (https.kind === 'auto') return 'auto';
    const secret = `${https.namespace}/${https.secret}`;
    const why = certificates.use(secret, host);
    if (why === null) {
      tellEarlier(claim, certificates, problems);
      return 'provided';
    }
    problems.push(problemOf(owner, host, 'no_certificate', `${why}; ${host} is served over HTTP alone until it is there`));
    return 'off';
  }
  return 'off';
}

/** Reports that an earlier version of a Secret is presented. */
function tellEarlier({ owner, host, https }: PathClaim, certificates: SecretCertificates, problems: UndatedProblem[]): void {
  const fault = https.kind === 'secret' ? certificates.whyEarlier(`${https.namespace}/${https.secret}`) : null;
  if (fault !== null) problems.push(problemOf(owner, host, 'no_certificate', `${fault}; ${EARLIER_STAYS}`));
}

const reader = createRouteReader();

type ReadRoute = {
  readonly handles: NonNullable<RouteInput['handles']>;
  /** The other members, as JSON. */
  readonly rest: string;
  readonly route: ReturnType<typeof withOrigin>;
};
/** Those of the last snapshot, by host. */
const read = new Map<string, ReadRoute>();

/** Reuses the route of an earlier snapshot if its blocks are the same objects. */
function routeOfInput(input: RouteInput): ReturnType<typeof withOrigin> {
  const { handles = [], ...others } = input;
  const rest = JSON.stringify(others);
  const before = read.get(input.domain);
  if (before !== undefined && before.rest === rest && isSameList(before.handles, handles)) return before.route;
  const route = withOrigin(input);
  read.set(input.domain, { handles, rest, route });
  return route;
}

type BuiltRoute = {
  readonly claims: readonly PathClaim[];
  readonly https: RouteInput['https'];
  readonly redirect: Pick<RouteInput, 'https_redirect'>;
  readonly route: ReturnType<typeof withOrigin>;
};
const known = new WeakMap<PathClaim, BuiltRoute>();

/** Reuses the route of an earlier snapshot if the claims are the same objects. */
function routeOfClaims(
  claims: readonly [PathClaim, ...PathClaim[]],
  https: RouteInput['https'],
  redirect: Pick<RouteInput, 'https_redirect'>,
): ReturnType<typeof withOrigin> {
  const [first] = claims;
  const before = known.get(first);
  if (before && before.https === https && before.redirect.https_redirect === redirect.https_redirect && isSameList(before.claims, claims))
    return before.route;
  const route = withOrigin({ ...redirect, ...routeOfHost(claims, https) });
  known.set(first, { claims, https, redirect, route });
  return route;
}
