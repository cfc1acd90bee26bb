import { METHODS } from 'node:http';
import { protocolsIn } from './protocols.ts';
import type { RequestHead } from './request-head.ts';

/** Whoever makes a tunnel of it knows no others. */
const KNOWN: ReadonlySet<string> = new Set(METHODS);

/** Protocols that are spoken over the connection itself, and so are never a matter between a client and an upstream. */
const HOP_BY_HOP = /^(?:h2c|tls(?:\/.*)?)$/i;

/**
 * The protocols that a client wants to go on with after the answer (RFC 9110 7.8), as the upstream is asked for them;
 * null where there are none, or where the request has a body or a method of its own: then the wish is ignored, as it may be.
 */
export function requestedUpgrade({ method, minor, fields }: RequestHead): string | null {
  if (!fields.connectionUpgrade || fields.upgrade === null || minor === 0) return null;
  if (fields.chunked || fields.contentLength > 0 || !KNOWN.has(method)) return null;
  const protocols = protocolsIn(fields.upgrade)?.filter((protocol) => !HOP_BY_HOP.test(protocol)) ?? [];
  return protocols.length === 0 ? null : protocols.join(', ');
}
