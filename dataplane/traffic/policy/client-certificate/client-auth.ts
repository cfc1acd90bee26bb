import { createHash } from 'node:crypto';
import type { RouteSpec } from '../../../../shared/route.ts';
import { isAt, type Place } from '../../match/place.ts';

/** The client certificates that a site requires in its TLS handshakes. */
export type ClientAuth = {
  /** Equal for sites with the same rule, so that one connection may serve both. */
  readonly rule: string;
  /** The site that has the rule: sessions of one site are not resumed for another, even if their rules are equal. */
  readonly domain: string;
  /** PEM: the authorities that client certificates must be issued by. */
  readonly ca: string;
};

/** What a site requires at some places; `auth` null: nothing. */
export type ClientAuthAt = Place & { readonly auth: ClientAuth | null };

/** What a site requires, of which the first entry for a place applies. Empty if it requires no certificates anywhere. */
export function compileClientAuth({
  domain,
  client_auth,
  client_auth_at,
}: Pick<RouteSpec, 'domain' | 'client_auth' | 'client_auth_at'>): readonly ClientAuthAt[] {
  const authOf = (ca: string): ClientAuth => ({ rule: createHash('sha256').update(ca).digest('hex').slice(0, 32), domain, ca });
  return [
    ...(client_auth_at ?? []).map(({ ports, local_ips, ca }) => ({
      ports: ports ?? null,
      localIps: local_ips ?? null,
      auth: ca === null ? null : authOf(ca),
    })),
    ...(client_auth ? [{ ports: null, localIps: null, auth: authOf(client_auth.ca) }] : []),
  ];
}

/** What is required at a place; null: nothing. See `isAt`. */
export function clientAuthAt(all: readonly ClientAuthAt[], port: number, address: (() => string) | null): ClientAuth | null {
  // Hardly any site requires certificates.
  return all.length === 0 ? null : (all.find((one) => isAt(one, port, address))?.auth ?? null);
}
