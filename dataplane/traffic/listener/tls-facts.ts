import type { TLSSocket } from 'node:tls';
import type { TlsFacts } from '../exchange/exchange.ts';
import type { Negotiated } from '../io/server-tls.ts';
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
 * The parameters that the handshake of this connection negotiated. They have to be read while the connection is open. `serverName` is that
 * of its ClientHello: for a resumed session of TLS 1.2, the library reports none.
 */
export function tlsFacts(negotiated: Negotiated, serverName: string | null, client: TlsFacts['client']): TlsFacts {
  // Absent if the client has already left, although its type in Node does not say so.
  const cipher: { standardName?: string } | undefined = negotiated.getCipher();
  return {
    resumed: negotiated.isSessionReused(),
    version: VERSIONS[negotiated.getProtocol() ?? ''] ?? 0,
    cipherSuite: SUITES[cipher?.standardName ?? ''] ?? 0,
    protocol: negotiated.alpnProtocol || '',
    serverName: serverName ?? '',
    client,
  };
}

/** The same for a socket. `verified`: whether the client had to present a certificate. */
export function factsOfSocket(socket: TLSSocket, serverName: string | null, verified: boolean): TlsFacts {
  const presented = verified ? socket.getPeerX509Certificate() : undefined;
  const negotiated: Negotiated = {
    alpnProtocol: socket.alpnProtocol,
    getCipher: () => socket.getCipher(),
    getProtocol: () => socket.getProtocol(),
    isSessionReused: () => socket.isSessionReused(),
  };
  return tlsFacts(negotiated, serverName, presented === undefined ? null : new PresentedIdentity(presented));
}
