import { notIssuableReason } from '../../shared/certificates/issuable.ts';
import type { Site } from '../../shared/certificates/issuer.ts';
import { CATCH_ALL, wildcardOf } from '../../shared/values/host.ts';

/** For which names the authority that is asked may issue; null: nobody is asked. */
export type AcmeCapabilities = { readonly anyName: boolean; readonly dns: boolean } | null;

/** Why nobody sees to a certificate for a site, so that its visitors over HTTPS have no connection. null: nothing is routed there. */
export function explainMissing(site: Site | null, orderable: AcmeCapabilities): string {
  if (site === null) return 'nothing is routed there';
  if (site.https === 'off') return 'the site says tls off';
  if (site.https === 'provided') return 'the one that the site names has not come';
  if (site.https === 'internal') return 'the internal authority has made none';
  if (orderable === null) return 'no e-mail is set';
  return notIssuableReason(site.domain, orderable) ?? 'it was routed a moment ago';
}

/** What a host is routed by: its own name, the wildcard over it, or the site for every host. */
export function siteFor(host: string, { site }: { site(domain: string): Site | null }): Site | null {
  return site(host) ?? site(wildcardOf(host) ?? host) ?? site(CATCH_ALL);
}

/** What a visitor without TLS needs no certificate for: because HTTP was asked for, or because nobody sees to one. */
export function explainPlainHttp(site: Site | null, isCertified: boolean, orderable: AcmeCapabilities): string {
  if (site === null || isCertified) return 'none needed: plain HTTP';
  if (site.https === 'off') return 'none needed: plain HTTP by choice, the site says tls off';
  return `none, so it stays on HTTP: ${explainMissing(site, orderable)}`;
}

/** Names that lead to the machine itself, where HTTP is as good. */
export const isOnLoopback = (domain: string): boolean =>
  domain === 'localhost' || domain.endsWith('.localhost') || domain.startsWith('127.');
