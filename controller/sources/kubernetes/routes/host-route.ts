import { BLOCK_MEMBERS } from '../../../../shared/policy/policies.ts';
import { handleSchema, type RouteDraft, type RouteInput } from '../../../../shared/route.ts';
import { ROLLOUT_OPTIONS } from '../backends/rollout-options.ts';
import type { GatewayHost } from '../gateway/hosts/gateway-hosts.ts';
import type { HostBlock } from '../gateway/hosts/host-block.ts';
import { domainOf, type Hostname } from '../gateway/hosts/hostnames.ts';
import type { HostPassthroughs } from '../gateway/hosts/passthroughs.ts';
import type { BoundListener } from '../gateway/listeners.ts';
import { compareMatches } from '../gateway/rules/conditions.ts';
import type { HttpMatch } from '../objects/http-route.ts';
import { byAge, isOlder, type Meta, oldestOf } from '../objects/meta.ts';
import { KUBERNETES_SOURCE, originOf } from '../objects/owner.ts';
import type { PathClaim } from './claim.ts';

type Handle = NonNullable<RouteInput['handles']>[number];
type Draft = Readonly<Record<string, unknown>>;

/** Members of a block by their subject: access and changes, or the targets. */
const POLICIES: ReadonlySet<string> = new Set(Object.keys(BLOCK_MEMBERS));
const OF_POOLS: ReadonlySet<string> = new Set(Object.keys(handleSchema.shape).filter((member) => !POLICIES.has(member)));

const UNAVAILABLE = { status: 503, body: '' };

/**
 * The route of a host: its claims as blocks, the strictest path first. `claims` has each path once. If all belong to one object, they are
 * treated as one site. Otherwise the annotations of each object apply to its own paths only, and settings of the whole host come from the
 * oldest object that has any, of the namespace that the host belongs to.
 */
export function routeOfHost(claims: readonly [PathClaim, ...PathClaim[]], https: RouteInput['https']): RouteInput {
  const sorted = [...claims].sort((a, b) => rank(a) - rank(b) || lengthOf(b) - lengthOf(a) || (pathOf(a) < pathOf(b) ? -1 : 1));
  const [first] = claims;
  const isOneSite = claims.every(({ owner }) => owner.meta.uid === first.owner.meta.uid);
  // If there are both `/` and a default backend, `/` is for the requests that the other blocks leave, and the default backend gets none.
  const everything = isOneSite ? (sorted.find(isRoot) ?? sorted.find(({ path }) => path.kind === 'default')) : undefined;
  const blocks = everything === undefined ? sorted : sorted.filter((claim) => claim !== everything && claim.path.kind !== 'default');
  const handles = blocks.map((claim) => handleOf(claim, isOneSite));
  const pool = everything && poolOf(everything);
  const isUnavailable =
    everything !== undefined && everything.backend.upstreams.length === 0 && (handles.length > 0 || everything.backend.isMissing);
  return {
    ...hostMembers(ownClaims(claims, namespaceOf(null, claims)), isOneSite),
    domain: first.host,
    https,
    source: KUBERNETES_SOURCE,
    origin: listOf(claims.map(({ owner }) => originOf(owner))),
    ...pool,
    tls: pool?.tls ?? false,
    upstream: everything?.backend.upstreams[0]?.address ?? null,
    // A site without targets still responds with 503; with blocks it would be 404.
    ...(isUnavailable && { respond: UNAVAILABLE }),
    handles,
  };
}

const rank = ({ path }: PathClaim): number => ['exact', 'prefix', 'default'].indexOf(path.kind);
const pathOf = ({ path }: PathClaim): string => (path.kind === 'default' ? '' : path.path);
const lengthOf = (claim: PathClaim): number => pathOf(claim).length;
const isRoot = ({ path }: PathClaim): boolean => path.kind === 'prefix' && path.path === '/';

/** A default backend is for requests that nothing else matches. */
const matchOf = ({ path }: PathClaim): HttpMatch => ({
  path: { type: path.kind === 'exact' ? 'Exact' : 'PathPrefix', value: path.kind === 'default' ? '' : path.path },
  ...{ method: null, headers: [], query: [] },
});

const NOT_FOUND = { status: 404, body: '' };

/** How Gateways serve a host: its requests, its TLS connections that are passed on, or both. */
export type GatewaySite = { readonly name: Hostname; readonly http: GatewayHost | null; readonly passthroughs: HostPassthroughs | null };

/**
 * The route of a host that Gateways serve, and perhaps other objects too. Among blocks with equal matches, those of older objects come
 * first. `isSecured`: whether other objects of its namespace have a setting for HTTPS.
 */
export function routeOfGatewayHost(
  { name, http, passthroughs }: GatewaySite,
  claims: readonly PathClaim[],
  https: RouteInput['https'],
  isSecured: boolean,
): RouteInput {
  const domain = domainOf(name);
  const own = claims.map(
    (claim): HostBlock => ({
      ...{ rank: claim.path.kind === 'default' ? Number.POSITIVE_INFINITY : 0, match: matchOf(claim) },
      ...{ isRefused: claim.isRefused === true, meta: claim.owner.meta },
      handle: handleOf(claim, false),
    }),
  );
  const ofGateways = http?.blocks ?? [];
  const blocks = own.length === 0 ? ofGateways : [...ofGateways, ...own].sort(inPrecedence);
  const metas = [...new Set((http?.listeners ?? []).map(({ owner }) => owner.meta))];
  const gateways = metas.slice(0, MAX_NAMED).map((meta) => originOf({ kind: 'gateway', meta }));
  const origins = [...gateways, ...claims.map(({ owner }) => originOf(owner))];
  return {
    ...hostMembers(ownClaims(claims, namespaceOf(http, claims)), false),
    domain,
    ...(domain.startsWith('*.') && { wildcard: 'many' as const }),
    https,
    ...((isOfGateway(http, claims) || !isSecured) && { https_redirect: false }),
    ...(http !== null && own.length === 0 && http.ports.length > 0 && { ports: [...http.ports] }),
    ...(http !== null && clientAuthOf(http, https)),
    ...(passthroughs !== null && { tls_passthrough: passthroughs }),
    source: KUBERNETES_SOURCE,
    origin: listOf(origins, metas.length - gateways.length) || 'TLSRoutes of Gateways',
    tls: false,
    upstream: null,
    ...((http !== null || own.length > 0) && { respond: NOT_FOUND }),
    handles: blocks.map(({ handle }) => handle),
  };
}

/** Where only default certificates are presented, `https` is off. */
function clientAuthOf({ clientRules: { everywhere, elsewhere } }: GatewayHost, https: RouteInput['https']) {
  const isException = everywhere !== null && https === 'off';
  const exceptions = isException ? [...elsewhere, { ca: everywhere }] : elsewhere;
  return {
    ...(everywhere !== null && !isException && { client_auth: { ca: everywhere } }),
    ...(exceptions.length > 0 && { client_auth_at: [...exceptions] }),
  };
}

function handleOf(claim: PathClaim, isOneSite: boolean): Handle {
  const { path, backend, members } = claim;
  const isAll = path.kind === 'default' || isRoot(claim);
  return {
    path: null,
    ...(!isAll && { match: { path: path.kind === 'exact' ? [path.path] : [path.path, `${path.path}/*`] } }),
    ...pick(members, (member) => !isOneSite && POLICIES.has(member)),
    ...(backend.upstreams.length === 0 ? { respond: UNAVAILABLE } : poolOf(claim)),
  };
}

/** The targets of a claim and how they are used: as annotations say, or else as the port of the service says. */
function poolOf({ backend, members }: PathClaim): Pick<Handle, 'upstreams' | 'tls' | 'transport' | keyof typeof ROLLOUT_OPTIONS> {
  const { upstreams, tls, transport } = backend;
  return { tls, ...(transport && { transport }), ...ROLLOUT_OPTIONS, ...pick(members, (member) => OF_POOLS.has(member)), upstreams };
}

const inPrecedence = (a: HostBlock, b: HostBlock): number =>
  (a.rank === b.rank ? 0 : a.rank - b.rank) || compareMatches(a.match, b.match) || Number(a.isRefused) - Number(b.isRefused) || byAge(a, b);

/**
 * The object that a host belongs to, with its namespace: the oldest one that names it. If that is a route, it is its Gateway. Those who may
 * create Gateways, or attach routes to one for many hosts, can name those of others, so that gives them nothing.
 */
export function ownerOf(http: GatewayHost | null, claims: readonly PathClaim[]): Meta | null {
  const owner = isOfGateway(http, claims) ? oldestListener(http) : claims[0];
  return owner?.owner.meta ?? null;
}

const namespaceOf = (http: GatewayHost | null, claims: readonly PathClaim[]): string | null => ownerOf(http, claims)?.namespace ?? null;

const isOfGateway = (http: GatewayHost | null, claims: readonly PathClaim[]): boolean =>
  http !== null && (claims.length === 0 || !http.isOfOther);

/** That of the oldest route comes first. */
function oldestListener(http: GatewayHost | null): BoundListener | undefined {
  const [ofRoute] = http?.listeners ?? [];
  const [named] = (http === null ? [] : naming(http)).sort((a, b) => byAge(a.owner, b.owner));
  const route = oldestOf(http?.blocks.filter(({ rank, isRefused }) => rank === 0 && !isRefused) ?? []);
  return named !== undefined && (route === undefined || isOlder(named.owner, route)) ? named : ofRoute;
}

const naming = ({ name, listeners }: GatewayHost): BoundListener[] => listeners.filter(({ listener }) => listener.hostname === name);

/** The claims that may decide about the whole host, because they belong to its namespace. */
export const ownClaims = (claims: readonly PathClaim[], namespace: string | null): readonly PathClaim[] =>
  claims.filter(({ owner }) => owner.meta.namespace === namespace);

/** Members of the site itself. */
function hostMembers(claims: readonly PathClaim[], isOneSite: boolean): RouteDraft {
  if (isOneSite) return pick(claims[0]?.members ?? {}, (member) => !OF_POOLS.has(member));
  const found: Record<string, unknown> = {};
  for (const { members } of claims)
    for (const [member, value] of Object.entries(members)) if (!POLICIES.has(member) && !OF_POOLS.has(member)) found[member] ??= value;
  return found;
}

const pick = (members: RouteDraft, isWanted: (member: string) => boolean): Draft =>
  Object.fromEntries(Object.entries(members).filter(([member]) => isWanted(member)));

const MAX_NAMED = 3;

/** `further`: how many more there are. */
function listOf(all: readonly string[], further = 0): string {
  const origins = [...new Set(all)];
  const more = origins.length + further - MAX_NAMED;
  return origins.slice(0, MAX_NAMED).join(', ') + (more > 0 ? ` and ${more} more` : '');
}
