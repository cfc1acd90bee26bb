import type { TLSSocket } from 'node:tls';
import type { TlsFacts } from '../exchange/exchange.ts';
import { PresentedIdentity } from './client-identity.ts';

const VERSIONS: Readonly<Record<string, number>> = { 'TLSv1.2': 0x0303, 'TLSv1.3': 0x0304 };

/** Those that the proxy offers (`CIPHERS`), by their names in the registry of IANA. */
const SUITES: Readonly<Record<string, number>> = {
  TLS_AES_128_GCM_SHA256: 0x1301,
  TLS_AES_256_GCM_SHA384: 0x1302,
  TLS_CHACHA20_POLY1305_SHA256: 0x1303,
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 0xc02b,
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 0xc02c,
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 0xc02f,
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 0xc030,
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 0xcca8,
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 0xcca9,
};

/**
 * The parameters that the handshake of this connection negotiated. They have to be read while the connection is open. `verified`: whether
 * the client had to present a certificate.
 */
export function tlsFacts(socket: TLSSocket, verified: boolean): TlsFacts {
  // Absent, whatever its type says, if the client has already left.
  const cipher: { standardName?: string } | undefined = socket.getCipher();
  const presented = verified ? socket.getPeerX509Certificate() : undefined;
  const serverName: unknown = Reflect.get(socket, 'servername');
  return {
    resumed: socket.isSessionReused(),
    version: VERSIONS[socket.getProtocol() ?? ''] ?? 0,
    cipherSuite: SUITES[cipher?.standardName ?? ''] ?? 0,
    protocol: socket.alpnProtocol || '',
    serverName: typeof serverName === 'string' ? serverName : '',
    client: presented === undefined ? null : new PresentedIdentity(presented),
  };
}
