import { namesOf } from '../certificates/certificate-names.ts';
import type { AdminAddress } from './admin-address.ts';

/** Why an Admin API can't be reached, with advice. */
export function reasonOf(error: unknown, address: AdminAddress): string {
  const { code, message, rawPacket } = error as NodeJS.ErrnoException & { readonly rawPacket?: Buffer };
  const ofTls = address.kind === 'tls' && code !== undefined ? tlsReason(code, error, address) : undefined;
  if (ofTls !== undefined) return ofTls;
  if (code?.startsWith('HPE_')) return rawPacket?.[0] === TLS_ALERT ? SPEAKS_TLS : 'the server there does not speak HTTP';
  const mayBeTls = address.kind === 'tcp' && (code === 'ECONNRESET' || code === 'EPIPE') ? ` (${IF_TLS})` : '';
  return (code && REASONS[code] && REASONS[code] + mayBeTls) || message || String(error);
}

/** Why a response does not come from an Admin API, with advice; null if it may. Its errors are objects with an explanation. */
export function notAnAdminApi({ address, status, text }: Answer): string | null {
  if ((status >= 200 && status < 300) || isEnvelope(text)) return null;
  // Servers agree on this word only.
  if (address.kind === 'tcp' && status === 400 && /\bHTTPS\b/.test(text)) return SPEAKS_TLS;
  const words = (/<title>([^<]*)/i.exec(text)?.[1] ?? text).replace(/[^ -~]+/g, ' ').trim();
  return `another program answers there, with ${status}${words === '' ? '' : ` (${words.slice(0, 100)})`}; ${WHERE}`;
}

/** How to find out the right address. */
export const WHERE = 'the data plane logs the address of its Admin API when it starts';
/** Servers that get plain HTTP at a port with TLS say so in an error, or close the connection with an alert or without one. */
const IF_TLS = 'if the port serves HTTPS, write https://HOST:PORT';
const SPEAKS_TLS = 'the port serves HTTPS: write https://HOST:PORT if it is the Admin API, with a name from its certificate';
/** The first byte of an alert (RFC 8446 5.1). */
const TLS_ALERT = 21;

type Answer = { readonly address: AdminAddress; readonly status: number; readonly text: string };

function isEnvelope(text: string): boolean {
  try {
    return typeof (JSON.parse(text) as { error?: unknown } | null)?.error === 'string';
  } catch {
    return false;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused (nothing listens there)',
  ENOENT: 'no such socket',
  EACCES: 'permission denied (run as the user who runs the data plane)',
  ENOTSOCK: 'that path is not a socket',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'its name cannot be resolved at the moment',
  ECONNRESET: 'the connection was closed without a response',
  EPIPE: 'the connection was closed without a response',
  ETIMEDOUT: 'no response in time',
  SILENT: 'it does not answer: it hangs, is suspended or overloaded; its workers may go on serving',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'there is no route to it from this machine',
};

/** OpenSSL's codes for a certificate that no trusted authority has issued. */
const UNTRUSTED = new Set([
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'INVALID_CA',
]);
/** OpenSSL's codes for data that is not TLS, such as a plain HTTP response. */
const NO_TLS = new Set(['ERR_SSL_WRONG_VERSION_NUMBER', 'ERR_SSL_PACKET_LENGTH_TOO_LONG', 'EPROTO']);
const RENEW = 'renew the file given there with --admin-tls-cert';

function tlsReason(code: string, error: unknown, { host, roots }: Extract<AdminAddress, { kind: 'tls' }>): string | undefined {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = namesOf((error as { cert?: { subjectaltname?: string } }).cert?.subjectaltname);
    return `its certificate is for ${names.join(', ') || 'no name'}, not for ${host}; use a name from the certificate, or have one issued for ${host}`;
  }
  if (code === 'DEPTH_ZERO_SELF_SIGNED_CERT')
    return `its certificate is self-signed and not ${roots ? `the one in ${roots.path}` : 'trusted here'}; pass that certificate with --dataplane-ca PATH`;
  if (UNTRUSTED.has(code))
    return roots
      ? `its certificate is not from an authority in ${roots.path}; pass the root that issued it with --dataplane-ca PATH`
      : "its certificate is not from an authority that is trusted here; pass the authority's root with --dataplane-ca PATH";
  if (code === 'CERT_HAS_EXPIRED') return `its certificate has expired, or the clock of this machine is wrong; ${RENEW}`;
  if (code === 'CERT_NOT_YET_VALID') return 'its certificate is not valid yet, or the clock of this machine is wrong';
  if (NO_TLS.has(code)) return 'the server there does not use TLS; is it the Admin API of a data plane with --admin-tls-cert?';
  return undefined;
}
