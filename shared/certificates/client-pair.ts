import { accepted, type Parsed, refused } from '../values/parsed.ts';
import { type PemOrigins, readKeyPair } from './key-pair.ts';

/** The certificate that the proxy presents to an upstream, with its key; both in PEM. */
export type ClientPair = { readonly certificate: string; readonly private_key: string };

/** RFC 5280 4.2.1.12: for TLS clients, and for everything. */
const FOR_CLIENTS = new Set(['1.3.6.1.5.5.7.3.2', '2.5.29.37.0']);

/**
 * Reads a client certificate with its chain, and its private key. Keys are as for servers; the names in it are the upstream's business, and
 * the validity period is not checked.
 * @returns also when it expires (ms since 1970). A refusal begins with one of the `places`.
 */
export function readClientPair(chainText: string, keyText: string, places: PemOrigins): Parsed<ClientPair & { readonly notAfter: number }> {
  const pair = readKeyPair(chainText, keyText, places);
  if (!pair.ok) return pair;
  const { leaf, chain, privateKey } = pair.value;
  if (leaf.keyUsage !== undefined && !leaf.keyUsage.some((use) => FOR_CLIENTS.has(use)))
    return refused(`${places.certificate}: the certificate is not for clients (extended key usage); have it issued for TLS clients`);
  return accepted({ certificate: chain, private_key: privateKey, notAfter: leaf.validToDate.getTime() });
}
