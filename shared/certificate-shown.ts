import { isIP } from 'node:net';
import { type ConnectionOptions, checkServerIdentity } from 'node:tls';

/**
 * What makes a handshake ask for the certificate of a name, and take no other. An address is not asked for (RFC 6066 3);
 * the certificate has to name it all the same.
 */
export const certificateShown = (name: string): Pick<ConnectionOptions, 'servername' | 'checkServerIdentity'> =>
  isIP(name) === 0
    ? { servername: name }
    : { servername: '', checkServerIdentity: (_, certificate) => checkServerIdentity(name, certificate) };
