import { METHODS } from '../../../../shared/runtime/http/node-http.ts';
import { protocolsIn } from './protocols.ts';
import type { RequestHead } from './request-head.ts';

/** The tunnel supports no other methods. */
const KNOWN: ReadonlySet<string> = new Set(METHODS);

/** Protocols that are spoken over the connection itself, so they are never negotiated between a client and an upstream. */
const HOP_BY_HOP = /^(?:h2c|tls(?:\/.*)?)$/i;

/**
 * The protocols that a client wants to upgrade to (RFC 9110 7.8), as forwarded to the upstream. null if there are none, or if the request
 * has a body or another method: the upgrade is then ignored, as the RFC allows.
 */
export function requestedUpgrade({ method, minor, fields }: RequestHead): string | null {
  if (!fields.connectionUpgrade || fields.upgrade === null || minor === 0) return null;
  if (fields.chunked || fields.contentLength > 0 || !KNOWN.has(method)) return null;
  const protocols = protocolsIn(fields.upgrade)?.filter((protocol) => !HOP_BY_HOP.test(protocol)) ?? [];
  return protocols.length === 0 ? null : protocols.join(', ');
}
