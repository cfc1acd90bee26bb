import type { RouteSpec } from '../route.ts';
import { CATCH_ALL } from '../values/host.ts';
import { notIssuableReason } from './issuable.ts';

/** What is to be known of a route for that. */
export type Site = { readonly domain: string; readonly https: RouteSpec['https'] };

/** Which authorities there are. */
export type Authorities = {
  /** One on the network, which is asked for every site; `anyName`: also for names that are not public, `dns`: for wildcards. */
  readonly automatic: boolean;
  readonly anyName: boolean;
  readonly dns: boolean;
  /** Our own, for sites that ask for it; `local`: for those that say nothing as well, and then nobody else is asked. */
  readonly internal: boolean;
  readonly local: boolean;
};

/**
 * Who sees to the certificate of a site: an authority on the network (`acme`) or our own (`internal`); null: nobody, and
 * the site stays on HTTP.
 */
export function issuerOf({ domain, https }: Site, authorities: Authorities): 'acme' | 'internal' | null {
  if (https === 'internal' || (https === 'auto' && authorities.local))
    return authorities.internal && domain !== CATCH_ALL ? 'internal' : null;
  return https === 'auto' && authorities.automatic && notIssuableReason(domain, authorities) === null ? 'acme' : null;
}
