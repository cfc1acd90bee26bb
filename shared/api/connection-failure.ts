import { namesOf } from '../certificates/certificate-names.ts';
import type { AdminAddress } from './admin-address.ts';

/** Why an Admin API can't be reached, with advice. */
export function reasonOf(error: unknown, address: AdminAddress): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const ofTls = address.kind === 'tls' && code !== undefined ? tlsReason(code, error, address) : undefined;
  return ofTls ?? ((code && REASONS[code]) || message || String(error));
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
