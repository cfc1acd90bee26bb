import { notIssuableReason } from '../../shared/certificates/issuable.ts';
import type { SiteIssuance } from '../../shared/certificates/issuer.ts';
import { CATCH_ALL, wildcardOf } from '../../shared/values/host.ts';

/** The kinds of names that the configured authority can issue for; null without an authority. */
export type AcmeCapabilities = { readonly anyName: boolean; readonly dns: boolean } | null;

/**
 * Why a site has no certificate, so that HTTPS connections to it are refused. `site` is null when nothing is routed there. `noAcme`: why
 * none are ordered at all.
 */
export function explainMissing(site: SiteIssuance | null, orderable: AcmeCapabilities, noAcme: string | null = null): string {
  if (site === null) return 'nothing is routed there';
  if (site.https === 'off') return 'the site says tls off';
  if (site.https === 'provided') return 'the certificate that the site names has not arrived';
  if (site.https === 'internal') return 'the internal authority has not issued one';
  if (orderable === null) return noAcme ?? 'no e-mail is set';
  return notIssuableReason(site.domain, orderable) ?? 'its route has only just been added';
}

/** The site that serves a host: its own name, the wildcard that covers it, or the catch-all. */
export function siteFor(host: string, { site }: { site(domain: string): SiteIssuance | null }): SiteIssuance | null {
  return site(host) ?? site(wildcardOf(host) ?? host) ?? site(CATCH_ALL);
}

/** Why a visitor over plain HTTP needs no certificate, or stays on HTTP for lack of one. */
export function explainPlainHttp(
  site: SiteIssuance | null,
  isCertified: boolean,
  orderable: AcmeCapabilities,
  noAcme: string | null = null,
): string {
  if (site === null || isCertified) return 'none needed: plain HTTP';
  if (site.https === 'off') return 'none needed: plain HTTP by choice, the site says tls off';
  return `none, so it stays on HTTP: ${explainMissing(site, orderable, noAcme)}`;
}

/** Names that resolve to the machine itself, where HTTP is good enough. */
export const isOnLoopback = (domain: string): boolean =>
  domain === 'localhost' || domain.endsWith('.localhost') || domain.startsWith('127.');
