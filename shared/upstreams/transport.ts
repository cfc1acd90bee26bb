import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { ClientPair } from '../certificates/client-pair.ts';
import { type Domain, parseDomain } from '../values/host.ts';
import { type Parsed, refused } from '../values/parsed.ts';

/** The longest time limit for a target (s); 0 means no limit. */
export const MAX_ANSWER_SECS = 86_400;
export const MAX_DIAL_SECS = 60;
/** The limit on the size of a response head (bytes): the default, and the range that may be configured. */
export const RESPONSE_HEADER_BYTES = { min: 16_384, default: 262_144, max: 1_048_576 } as const;

/** How to connect to the targets of a pool, if not with HTTP/1.1 and publicly trusted certificates. */
export type TransportSpec = {
  /** `h2`: HTTP/2 over TLS; `h2c`: HTTP/2 without TLS (RFC 9113 3.3). HTTP/1.1 if absent. */
  readonly protocol?: 'h2' | 'h2c' | undefined;
  /** The name that the certificate must cover, also sent in the handshake (SNI, RFC 6066 3). */
  readonly server_name?: string | undefined;
  /** PEM: the authorities that verify the certificate, instead of those the system trusts. */
  readonly ca?: string | undefined;
  /** Whether certificate verification is skipped. */
  readonly insecure?: boolean | undefined;
  /** The certificate that the proxy presents to targets that request one. */
  readonly client_certificate?: ClientPair | undefined;
  /** Seconds to establish a connection, including name resolution and TLS. */
  readonly dial_timeout_secs?: number | undefined;
  /** Seconds from the end of a request until its response must begin; 0 is no limit. */
  readonly response_header_timeout_secs?: number | undefined;
  /** Seconds between two parts of a response body; 0 is no limit. */
  readonly read_timeout_secs?: number | undefined;
  /** Seconds from when a request is forwarded until its response is complete, with retries and waiting; 0 is no limit. */
  readonly request_timeout_secs?: number | undefined;
  /** Bytes of a response head: status line and header fields together. */
  readonly max_response_header_bytes?: number | undefined;
};

/** Reads the name that a certificate must cover. It cannot be an address, which SNI does not carry (RFC 6066 3). */
export function readServerName(text: string): Parsed<Domain> {
  if (isIP(text) !== 0) return refused('this is an IP address; a server name must be a DNS name');
  if (text.startsWith('*')) return refused('this is a wildcard; a server name must be a single DNS name');
  return parseDomain(text);
}

/**
 * A key for a transport: equal for equal transports, different for different ones, and empty for the default. One address with two
 * transports is two targets, since their health may differ. Time limits are left out, as they do not affect the target.
 */
export function transportName(transport: TransportSpec | null | undefined): string {
  if (transport == null) return '';
  const { protocol, server_name: name, ca, insecure, client_certificate: own } = transport;
  const verified = [name && `tls_server_name=${name}`, ca && `ca=${fingerprint(ca)}`, insecure && 'insecure'];
  // A key belongs to one certificate, so the certificate alone tells two pairs apart.
  const parts = [protocol, ...verified, own && `tls_client_auth=${fingerprint(own.certificate)}`];
  return parts.filter((part) => typeof part === 'string' && part !== '').join(' ');
}

const fingerprint = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);

/** Why a pool can't use this transport; null if it can. `tls`: whether the pool uses TLS. */
export function faultOfTransport(
  { protocol, server_name: name, ca, insecure, client_certificate: own }: TransportSpec,
  tls: boolean,
): string | null {
  if (protocol === 'h2' && !tls) return 'h2 is HTTP/2 over TLS, but TLS to the upstreams is off; write h2c for HTTP/2 without TLS';
  if (protocol === 'h2c' && tls) return 'h2c is HTTP/2 without TLS, but TLS to the upstreams is on; write h2 for HTTP/2 over TLS';
  if (!tls && (name !== undefined || ca !== undefined || insecure === true || own !== undefined))
    return 'server_name, ca, insecure and client_certificate apply only to TLS, and TLS to the upstreams is off';
  if (insecure === true && ca !== undefined) return 'ca verifies the certificate and insecure skips verification; keep one of them';
  return null;
}
