import { createHash } from 'node:crypto';
import type { RouteSpec } from '../../../../shared/route.ts';

/** The client certificates that a site requires in its TLS handshakes. */
export type ClientAuth = {
  /** Equal for sites with the same rule, so that one connection may serve both. */
  readonly rule: string;
  /** The site that has the rule: sessions of one site are not resumed for another, even if their rules are equal. */
  readonly domain: string;
  /** PEM: the authorities that client certificates must be issued by. */
  readonly ca: string;
};

/** null for a site that requires none. */
export function compileClientAuth({ domain, client_auth }: Pick<RouteSpec, 'domain' | 'client_auth'>): ClientAuth | null {
  if (!client_auth) return null;
  return { rule: createHash('sha256').update(client_auth.ca).digest('hex').slice(0, 32), domain, ca: client_auth.ca };
}
