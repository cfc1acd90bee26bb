import { createHash } from 'node:crypto';
import type { RouteSpec } from '../../../../shared/route.ts';

/** What the TLS handshakes of a site ask of clients. */
export type ClientAuth = {
  /** Equal for sites that ask for the same, so that one connection may serve both. */
  readonly rule: string;
  /** The site whose rule it is: a session of one site opens no other, be their rules equal or not. */
  readonly domain: string;
  /** PEM: who vouches for visitors. */
  readonly ca: string;
};

/** null for a site that asks for nothing. */
export function compileClientAuth({ domain, client_auth }: Pick<RouteSpec, 'domain' | 'client_auth'>): ClientAuth | null {
  if (!client_auth) return null;
  return { rule: createHash('sha256').update(client_auth.ca).digest('hex').slice(0, 32), domain, ca: client_auth.ca };
}
