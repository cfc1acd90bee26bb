import type * as Acme from 'acme-client';
import { newPrivateKey } from '../acme/private-key.ts';

/** The certificate that answers a TLS-ALPN-01 challenge (RFC 8737 3): the name, and a critical extension with the expected digest. PEM. */
export async function tlsAlpnCertificate(name: string, keyAuthorization: string): Promise<{ certificate: string; privateKey: string }> {
  const { crypto } = (await import('acme-client')).default as typeof Acme;
  const privateKey = newPrivateKey();
  const authorization = { identifier: { type: 'dns', value: name } } as Acme.Authorization;
  const [, certificate] = await crypto.createAlpnCertificate(authorization, keyAuthorization, privateKey);
  return { certificate: certificate.toString(), privateKey };
}
