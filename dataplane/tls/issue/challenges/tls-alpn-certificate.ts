import type * as Acme from 'acme-client';
import { newPrivateKey } from '../acme/private-key.ts';
import type { Challenge } from './challenge.ts';

/** What an authority is shown in a handshake (RFC 8737 3): the name, and a critical extension with the digest that it expects. PEM. */
export async function tlsAlpnCertificate({ name, keyAuthorization }: Challenge): Promise<{ certificate: string; privateKey: string }> {
  const { crypto } = (await import('acme-client')).default as typeof Acme;
  const privateKey = newPrivateKey();
  const authorization = { identifier: { type: 'dns', value: name } } as Acme.Authorization;
  const [, certificate] = await crypto.createAlpnCertificate(authorization, keyAuthorization, privateKey);
  return { certificate: certificate.toString(), privateKey };
}
