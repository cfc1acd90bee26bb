import type { HandleSpec, RouteSpec, UpstreamSpec } from '../../../shared/route.ts';
import type { RouteEntry, RoutesChange } from '../../publish/publisher.ts';
import { type Claim, type Claims, isUnconfirmed, visible } from '../claims/claims.ts';
import { factsOf, isIdentified, type RouteFacts } from '../claims/facts.ts';

/** The minimum time that requests wait for a target whose address may belong to another one by now (s). */
const HOLD_SECS = 10;

type RestoredClaims = { readonly claims: ReadonlyMap<string, Claims> };

/** The routes that workers start with. */
export const initialRoutes = (restored: RestoredClaims): RoutesChange => allRoutes(restored, routeEntry);

/**
 * The same routes as saved, with unconfirmed targets. Health checks of those start immediately, and their results count once they are
 * confirmed.
 */
export const savedRoutes = (restored: RestoredClaims): RoutesChange => allRoutes(restored, savedRoute);

/** The form of a claim that workers get. While it is unconfirmed, no target with an id is in rotation, and requests wait for one. */
export function routeEntry(domain: string, claim: Claim): RouteEntry {
  if (!isUnconfirmed(claim)) return savedRoute(domain, claim);
  const route = withoutIdentifiedTargets(JSON.parse(claim.json));
  return { domain, json: JSON.stringify(route), ...publishedFacts(factsOf(route)) };
}

const savedRoute = (domain: string, { json, facts }: Claim): RouteEntry => ({ domain, json, ...publishedFacts(facts) });

const publishedFacts = ({ healthChecks, fetchesKeys, passesTls, severalLabels }: RouteFacts) => ({
  healthChecks,
  fetchesKeys,
  passesTls,
  severalLabels,
});

function allRoutes({ claims: all }: RestoredClaims, published: (domain: string, claim: Claim) => RouteEntry): RoutesChange {
  const upserts: RouteEntry[] = [];
  for (const [domain, claims] of all) {
    const claim = visible(claims);
    if (claim !== null) upserts.push(published(domain, claim));
  }
  return { whole: true, upserts, removed: [] };
}

function withoutIdentifiedTargets(route: RouteSpec): RouteSpec {
  const handles = route.handles.map((handle) => {
    const hold = handle.hold_secs === undefined ? route.hold_secs : handle.hold_secs;
    // A block without targets uses those of its site.
    return {
      ...handle,
      ...mirrorsKeptOut(handle),
      ...heldBack(handle.upstreams, hold, isWaiting(handle.upstreams.length === 0 ? route : handle)),
    };
  });
  const passed = route.tls_passthrough?.map((one) => ({ ...one, upstreams: one.upstreams.map(keptOut) }));
  return {
    ...route,
    ...mirrorsKeptOut(route),
    ...heldBack(route.upstreams, route.hold_secs, isWaiting(route)),
    handles,
    ...(passed && { tls_passthrough: passed }),
  };
}

const isWaiting = ({ upstreams }: Pick<HandleSpec, 'upstreams'>): boolean => upstreams.some(isIdentified);

const heldBack = (upstreams: readonly UpstreamSpec[], hold: number | null | undefined, waits: boolean) => ({
  upstreams: upstreams.map(keptOut),
  hold_secs: waits ? Math.max(hold ?? 0, HOLD_SECS) : (hold ?? null),
});

const keptOut = (target: UpstreamSpec): UpstreamSpec => (isIdentified(target) ? { ...target, state: 'starting', probe: false } : target);

const mirrorsKeptOut = ({ mirrors }: Pick<HandleSpec, 'mirrors'>): Pick<HandleSpec, 'mirrors'> =>
  mirrors == null ? {} : { mirrors: mirrors.map((one) => ({ ...one, upstreams: one.upstreams.map(keptOut) })) };
