import type { RouteSpec } from '../../shared/route.ts';
import type { Listing } from '../desired/desire.ts';

/** A second listing counts if it is at least this much later. */
export const SECOND_LISTING_MS = 5_000;
/** Up to this many removals are never suspicious. */
const ALWAYS_FINE = 10;

/** The desired state of a source after the guard. `held` are the routes with a pending removal. */
export type Guarded = { readonly listing: Listing; readonly held: ReadonlySet<string>; readonly heldSince: number };

/**
 * A listing without more than half of a source's routes, and more than ten, may come from a source that sees only part of its objects.
 * Additions and changes apply; removals wait for a second listing to confirm them. Pure. `confirmed`: a person requested this listing, so
 * it confirms earlier ones at any time. Times in milliseconds.
 */
export function guardListing(before: Guarded | null, listing: Listing, now: number, confirmed: boolean): Guarded {
  if (!before) return { listing, held: NONE, heldSince: now };
  const wanted = new Set(listing.routes.map((route) => route.domain as string));
  const missing = before.listing.routes.filter((route) => !wanted.has(route.domain));
  const suspicious = missing.length > ALWAYS_FINE && missing.length * 2 > before.listing.routes.length;
  if (!suspicious) return { listing, held: NONE, heldSince: now };
  const isSecond = before.held.size > 0 && listing.repeated !== true && (confirmed || now - before.heldSince >= SECOND_LISTING_MS);
  const waiting = isSecond ? missing.filter((route) => !before.held.has(route.domain)) : missing;
  if (waiting.length === 0) return { listing, held: NONE, heldSince: now };
  const heldSince = before.held.size > 0 && !isSecond ? before.heldSince : now;
  return { listing: withRoutes(listing, waiting, before.listing), held: new Set(waiting.map((route) => route.domain)), heldSince };
}

const NONE: ReadonlySet<string> = new Set();

/** Routes with a pending removal keep their certificates. */
function withRoutes(listing: Listing, kept: readonly RouteSpec[], before: Listing): Listing {
  const domains = new Set<string>(kept.map(({ domain }) => domain));
  const certificates = (before.certificates ?? []).filter((one) => one.domains.some((domain) => domains.has(domain)));
  return {
    ...listing,
    routes: [...listing.routes, ...kept],
    ...(certificates.length > 0 && { certificates: [...(listing.certificates ?? []), ...certificates] }),
  };
}
