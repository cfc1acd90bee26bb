import type { HandleSpec, RouteSpec, UpstreamSpec } from '../../../shared/route.ts';
import type { RouteEntry, RoutesChange } from '../../publish/publisher.ts';
import { awaitsController, type Claim, type Claims, isUnconfirmed, lostName, visible } from '../claims/claims.ts';
import { factsOf, isIdentified, type RouteFacts } from '../claims/facts.ts';

/** The minimum time that requests wait for a target whose address may belong to another one by now (s). */
const HOLD_SECS = 10;

const NONE: ReadonlySet<string> = new Set();

type RestoredClaims = { readonly claims: ReadonlyMap<string, Claims> };

/** The routes that workers start with. */
export const initialRoutes = (restored: RestoredClaims): RoutesChange => allRoutes(restored, routeEntry);

/**
 * The same routes as saved, with unconfirmed targets. Health checks of those start immediately, and their results count once they are
 * confirmed.
 */
export const savedRoutes = (restored: RestoredClaims): RoutesChange => allRoutes(restored, savedRoute);

/**
 * The form of a claim that workers get. While it is unconfirmed, no target with an id is in rotation, nor one that was lost, and requests
 * wait for one.
 */
export function routeEntry(domain: string, claim: Claim): RouteEntry {
  if (!awaitsController(claim)) return savedRoute(domain, claim);
  const { lost = NONE } = claim;
  const way = isUnconfirmed(claim)
    ? { isOut: isIdentified, out: keptOut }
    : { isOut: (target: UpstreamSpec) => isIdentified(target) && lost.has(lostName(target)), out: abandoned };
  const route = withoutTargets(JSON.parse(claim.json), way);
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

/** Which targets get no requests, and what workers have in their place. */
type Way = { readonly isOut: (target: UpstreamSpec) => boolean; readonly out: (target: UpstreamSpec) => UpstreamSpec };

function withoutTargets(route: RouteSpec, way: Way): RouteSpec {
  const kept = (upstreams: readonly UpstreamSpec[]) => upstreams.map((target) => (way.isOut(target) ? way.out(target) : target));
  const mirrored = ({ mirrors }: Pick<HandleSpec, 'mirrors'>): Pick<HandleSpec, 'mirrors'> =>
    mirrors == null ? {} : { mirrors: mirrors.map((one) => ({ ...one, upstreams: kept(one.upstreams) })) };
  const isWaiting = ({ upstreams }: Pick<HandleSpec, 'upstreams'>): boolean => upstreams.some(way.isOut);
  const heldBack = (upstreams: readonly UpstreamSpec[], hold: number | null | undefined, waits: boolean) => ({
    upstreams: kept(upstreams),
    hold_secs: waits ? Math.max(hold ?? 0, HOLD_SECS) : (hold ?? null),
  });
  const handles = route.handles.map((handle) => {
    const hold = handle.hold_secs === undefined ? route.hold_secs : handle.hold_secs;
    // A block without targets uses those of its site.
    return {
      ...handle,
      ...mirrored(handle),
      ...heldBack(handle.upstreams, hold, isWaiting(handle.upstreams.length === 0 ? route : handle)),
    };
  });
  const passed = route.tls_passthrough?.map((one) => ({ ...one, upstreams: kept(one.upstreams) }));
  return {
    ...route,
    ...mirrored(route),
    ...heldBack(route.upstreams, route.hold_secs, isWaiting(route)),
    handles,
    ...(passed && { tls_passthrough: passed }),
  };
}

const keptOut = (target: UpstreamSpec): UpstreamSpec => ({ ...target, state: 'starting', probe: false });

/**
 * As another target, which is never used: connections to the lost one that are on the way must not be established any more, because
 * something else may have its address by then.
 */
const abandoned = (target: UpstreamSpec): UpstreamSpec => ({ ...keptOut(target), id: `${target.id} (lost)` });
