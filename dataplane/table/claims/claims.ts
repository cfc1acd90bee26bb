import type { SiteIssuance } from '../../../shared/certificates/issuer.ts';
import { type RouteSpec, routeSchema } from '../../../shared/route.ts';
import { factsOf, type RouteFacts } from './facts.ts';

/** A claim as it is on disk. The route is kept as JSON without its origin: parsed, 100,000 routes would take ten times the memory. */
export type SavedClaim = {
  readonly json: string;
  readonly origin: string | null;
  readonly source: string | null;
  /** null if posted manually. */
  readonly controller: string | null;
  /** Milliseconds since 1970. */
  readonly since: number;
};

/** One owner's route for a domain. */
export type Claim = SavedClaim & {
  readonly facts: RouteFacts;
  /** Restored from disk, and its controller has not yet confirmed the addresses of its targets. Not saved. */
  readonly unconfirmed?: boolean;
  /** By `lostName`: its targets that did not accept connections while its controller was away. Not saved. */
  readonly lost?: ReadonlySet<string>;
};

/** The name of a target with an id that was lost. */
export const lostName = ({ address, id }: { readonly address: string; readonly id?: string | undefined }): string => `${address} ${id}`;

export const LAYERS = ['hand', 'applied'] as const;
/** A manually posted route overrides the one that a controller applied. */
export type Layer = (typeof LAYERS)[number];

/** All claims to one domain. */
export type Claims = { readonly hand: Claim | null; readonly applied: Claim | null };

export const NO_CLAIMS: Claims = { hand: null, applied: null };

/** The claim that is served. */
export const visible = (claims: Claims): Claim | null => claims.hand ?? claims.applied;

export function claimOf(route: RouteSpec, controller: string | null, since: number): Claim {
  const { origin, ...rest } = route;
  return { json: JSON.stringify(rest), facts: factsOf(route), origin: origin ?? null, source: route.source, controller, since };
}

export function routeOf(claim: Claim): RouteSpec {
  const route = routeSchema.parse(JSON.parse(claim.json));
  return claim.origin === null ? route : { ...route, origin: claim.origin };
}

/** How sites get HTTPS. */
export function* sitesOf(claims: ReadonlyMap<string, Claims>): Generator<SiteIssuance> {
  for (const [domain, each] of claims) {
    const site = siteOf(domain, each);
    if (site !== null) yield site;
  }
}

/** null if there is no claim to the domain. */
export function siteOf(domain: string, claims: Claims = NO_CLAIMS): SiteIssuance | null {
  const claim = visible(claims);
  return claim && { domain, https: claim.facts.https };
}

/** Whether a manually posted route overrides a controller's. */
export const isOverridden = ({ hand, applied }: Claims): boolean => hand !== null && applied !== null;

/** Whether both serve the same. The origin of a route (its line in a file) makes no difference to visitors. */
export const sameRoute = (a: Claim | null, b: Claim | null): boolean =>
  a === b || (a !== null && b !== null && a.json === b.json && isUnconfirmed(a) === isUnconfirmed(b) && a.lost === b.lost);

/** Whether both are the same on disk. */
export const sameRow = (a: Claim | null, b: Claim | null): boolean =>
  a === b ||
  (a !== null && b !== null && a.json === b.json && a.origin === b.origin && a.since === b.since && a.controller === b.controller);

export const isUnconfirmed = (claim: Claim | null): boolean => claim?.unconfirmed === true;

/** Whether any of its targets is not used until its controller confirms it. */
export const awaitsController = (claim: Claim | null): boolean => isUnconfirmed(claim) || claim?.lost !== undefined;

/** The claim once its controller has confirmed it. */
export function confirmed(claim: Claim): Claim {
  const { lost: _, ...rest } = claim;
  return { ...rest, unconfirmed: false };
}
