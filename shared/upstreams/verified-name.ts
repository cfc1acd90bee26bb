import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { tls } from '../runtime/node-on-demand.ts';

/**
 * TLS options that request and verify the certificate of a name. SNI cannot carry an address (RFC 6066 3), but the certificate must still
 * cover it.
 */
export const verifiedName = (name: string): Pick<ConnectionOptions, 'servername' | 'checkServerIdentity'> =>
  isIP(name) === 0
    ? { servername: name }
    : { servername: '', checkServerIdentity: (_, certificate) => tls().checkServerIdentity(name, certificate) };
