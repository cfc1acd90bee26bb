import type { Site } from '../../../shared/certificates/issuer.ts';
import { type RouteSpec, routeSchema } from '../../../shared/route.ts';

/** Someone's wish for a domain. The route is kept as JSON, without its origin: parsed, 100,000 of them would take ten times the memory. */
export type Claim = {
  readonly json: string;
  readonly origin: string | null;
  readonly source: string | null;
  /** null: posted by hand. */
  readonly controller: string | null;
  /** Milliseconds since 1970. */
  readonly since: number;
  /** Restored, and nobody has said yet that its targets are still where they were. Not saved. */
  readonly doubted?: boolean;
};

export const LAYERS = ['hand', 'applied'] as const;
/** A route posted by hand lies over the one that a controller applied. */
export type Layer = (typeof LAYERS)[number];

/** Everybody's wishes for one domain. */
export type Claims = { readonly hand: Claim | null; readonly applied: Claim | null };

export const NOBODY: Claims = { hand: null, applied: null };

/** The claim that is served. */
export const visible = (claims: Claims): Claim | null => claims.hand ?? claims.applied;

export function claimOf(route: RouteSpec, controller: string | null, since: number): Claim {
  const { origin, ...rest } = route;
  return { json: JSON.stringify(rest), origin: origin ?? null, source: route.source, controller, since };
}

export function routeOf(claim: Claim): RouteSpec {
  const route = routeSchema.parse(JSON.parse(claim.json));
  return claim.origin === null ? route : { ...route, origin: claim.origin };
}

/** How sites come to HTTPS. Their routes are not read for it: there may be 100,000, asked at every start. */
export function* sitesOf(claims: ReadonlyMap<string, Claims>): Generator<Site> {
  for (const [domain, wishes] of claims) {
    const site = siteOf(domain, wishes);
    if (site !== null) yield site;
  }
}

/** null where nobody wishes for the domain. */
export function siteOf(domain: string, claims: Claims = NOBODY): Site | null {
  const claim = visible(claims);
  return claim && { domain, https: httpsIn(claim.json) };
}

const HTTPS = '"https":"';
const MODES = routeSchema.shape.https.unwrap().options;

/** No other object of a route has such a member, and in a text its quotes would be escaped. */
function httpsIn(json: string): RouteSpec['https'] {
  const at = json.indexOf(HTTPS);
  if (at < 0) return 'auto';
  const value = json.slice(at + HTTPS.length, json.indexOf('"', at + HTTPS.length));
  return MODES.find((mode) => mode === value) ?? 'auto';
}

/** Whether a route that was posted by hand hides a controller's. */
export const isOverridden = ({ hand, applied }: Claims): boolean => hand !== null && applied !== null;

/** Whether visitors could tell the two apart. Where a route was written (its line) is not served. */
export const sameRoute = (a: Claim | null, b: Claim | null): boolean =>
  a === b || (a !== null && b !== null && a.json === b.json && isDoubted(a) === isDoubted(b));

/** Whether the same is on disk for both. */
export const sameRow = (a: Claim | null, b: Claim | null): boolean =>
  a === b ||
  (a !== null && b !== null && a.json === b.json && a.origin === b.origin && a.since === b.since && a.controller === b.controller);

export const isDoubted = (claim: Claim | null): boolean => claim?.doubted === true;
