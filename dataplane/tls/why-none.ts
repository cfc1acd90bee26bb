import { whyNotCertifiable } from '../../shared/certificates/certifiable.ts';
import type { Site } from '../../shared/certificates/certifier.ts';

/** For which names the authority that is asked may issue; null: nobody is asked. */
export type Orderable = { readonly anyName: boolean; readonly dns: boolean } | null;

/** Why nobody sees to a certificate for a site, so that its visitors over HTTPS have no connection. null: nothing is routed there. */
export function whyNone(site: Site | null, orderable: Orderable): string {
  if (site === null) return 'nothing is routed there';
  if (site.https === 'off') return 'the site says tls off';
  if (site.https === 'provided') return 'the one that the site names has not come';
  if (site.https === 'internal') return 'the internal authority has made none';
  if (orderable === null) return 'no e-mail is set';
  return whyNotCertifiable(site.domain, orderable) ?? 'it was routed a moment ago';
}
