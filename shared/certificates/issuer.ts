import type { RouteSpec } from '../route.ts';
import { CATCH_ALL } from '../values/host.ts';
import { notIssuableReason } from './issuable.ts';

/** The members of a route that decide its issuer. */
export type SiteIssuance = { readonly domain: string; readonly https: RouteSpec['https'] };

/** The available issuers. */
export type AvailableIssuers = {
  /** Whether ACME is set up. `anyName`: also for names that are not public; `dns`: also for wildcards. */
  readonly automatic: boolean;
  readonly anyName: boolean;
  readonly dns: boolean;
  /** Whether the internal authority exists, for sites that select it; `local`: it replaces ACME for sites without their own setting. */
  readonly internal: boolean;
  readonly local: boolean;
};

/**
 * The issuer of a site's certificate: an ACME authority (`acme`) or the internal authority (`internal`); null: none, so
 * the site stays on HTTP.
 */
export function issuerOf({ domain, https }: SiteIssuance, authorities: AvailableIssuers): 'acme' | 'internal' | null {
  if (https === 'internal' || (https === 'auto' && authorities.local))
    return authorities.internal && domain !== CATCH_ALL ? 'internal' : null;
  return https === 'auto' && authorities.automatic && notIssuableReason(domain, authorities) === null ? 'acme' : null;
}
