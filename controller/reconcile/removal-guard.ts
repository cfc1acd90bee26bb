import type { RouteSpec } from '../../shared/route.ts';
import type { Listing } from '../desired/desire.ts';

/** A second listing counts when it comes this much later. */
export const SECOND_LISTING_MS = 5_000;
/** Up to this many removals are never suspicious. */
const ALWAYS_FINE = 10;

/** What a source wants after the guard had its say. `held` are the routes whose removal waits. */
export type Guarded = { readonly listing: Listing; readonly held: ReadonlySet<string>; readonly heldSince: number };

/**
 * A listing that drops more than half of a source's routes, and more than ten, may be a source that sees
 * only half of its world. Its additions and changes pass; its removals wait for a second listing that agrees.
 * Pure. `confirmed`: a person asked for this listing, so it is a second one at any distance. Times in milliseconds.
 */
export function guardListing(before: Guarded | null, listing: Listing, now: number, confirmed: boolean): Guarded {
  if (!before) return { listing, held: NONE, heldSince: now };
  const wanted = new Set(listing.routes.map((route) => route.domain as string));
  const missing = before.listing.routes.filter((route) => !wanted.has(route.domain));
  const suspicious = missing.length > ALWAYS_FINE && missing.length * 2 > before.listing.routes.length;
  if (!suspicious) return { listing, held: NONE, heldSince: now };
  const isSecond = before.held.size > 0 && (confirmed || now - before.heldSince >= SECOND_LISTING_MS);
  const waiting = isSecond ? missing.filter((route) => !before.held.has(route.domain)) : missing;
  if (waiting.length === 0) return { listing, held: NONE, heldSince: now };
  const heldSince = before.held.size > 0 && !isSecond ? before.heldSince : now;
  return { listing: withRoutes(listing, waiting, before.listing), held: new Set(waiting.map((route) => route.domain)), heldSince };
}

const NONE: ReadonlySet<string> = new Set();

/** What waits keeps its certificate. */
function withRoutes(listing: Listing, kept: readonly RouteSpec[], before: Listing): Listing {
  const domains = new Set<string>(kept.map(({ domain }) => domain));
  const certificates = (before.certificates ?? []).filter((one) => one.domains.some((domain) => domains.has(domain)));
  return {
    ...listing,
    routes: [...listing.routes, ...kept],
    ...(certificates.length > 0 && { certificates: [...(listing.certificates ?? []), ...certificates] }),
  };
}
