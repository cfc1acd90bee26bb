import type { X509Certificate } from 'node:crypto';
import { accepted, type Parsed, refused } from '../values/parsed.ts';
import { namesOf } from './certificate-names.ts';
import { type PemOrigins, readKeyPair } from './key-pair.ts';

/** A validated certificate chain with its private key. */
export type Certificate = {
  /** The DNS names, wildcards as written, and addresses that it covers. Lower case; empty only where no names are needed. */
  readonly domains: readonly string[];
  /** PEM: the leaf first, each followed by its issuer. */
  readonly chain: string;
  /** PEM. */
  readonly privateKey: string;
  /** The issuer, for people. */
  readonly issuer: string;
  /** Lower-case hexadecimal. */
  readonly serial: string;
  /** Milliseconds since 1970. */
  readonly notBefore: number;
  readonly notAfter: number;
};

const MEMBERS: PemOrigins = { certificate: 'certificate', privateKey: 'private_key' };
export type ReadCertificateOptions = {
  /** Where the two texts came from; members of a request if absent. */
  readonly places?: PemOrigins;
  /** Whether it is refused if it covers no names: true if absent, false for one that is presented for any name. */
  readonly needsNames?: boolean;
};
/** RFC 5280 4.2.1.12: for TLS servers, and for everything. */
const FOR_SERVERS = new Set(['1.3.6.1.5.5.7.3.1', '2.5.29.37.0']);

/**
 * Reads a chain and its private key, both in PEM and possibly in one text. A chain in the wrong order is sorted, and
 * unrelated certificates are dropped. Keys are RSA of 2,048 bits or more, P-256, P-384 or Ed25519. The validity period
 * is not checked. A refusal says which of the `places` is wrong, and what to do.
 */
export function readCertificate(
  chainText: string,
  keyText: string,
  { places = MEMBERS, needsNames = true }: ReadCertificateOptions = {},
): Parsed<Certificate> {
  const pair = readKeyPair(chainText, keyText, places);
  if (!pair.ok) return pair;
  const { leaf, count, chain, privateKey } = pair.value;
  const domains = namesOf(leaf.subjectAltName);
  const unfit = unfitLeaf(leaf, domains, count, needsNames);
  if (unfit !== null) return refused(`${places.certificate}: ${unfit}`);
  return accepted({
    domains,
    chain,
    privateKey,
    issuer: leaf.issuer === leaf.subject ? 'self-signed' : shortName(leaf.issuer),
    serial: leaf.serialNumber.toLowerCase(),
    notBefore: leaf.validFromDate.getTime(),
    notAfter: leaf.validToDate.getTime(),
  });
}

function unfitLeaf(leaf: X509Certificate, domains: readonly string[], count: number, needsNames: boolean): string | null {
  if (count > 1 && leaf.ca)
    return 'the private key belongs to an authority of the chain, not to a certificate for a site; provide the key of the certificate of the site';
  // Common names are ignored (RFC 9525 6.3).
  if (needsNames && domains.length === 0)
    return 'the certificate covers no names, since it has no subjectAltName; have it issued with its DNS names';
  const { keyUsage } = leaf;
  if (keyUsage !== undefined && !keyUsage.some((use) => FOR_SERVERS.has(use)))
    return 'the certificate is not for servers (extended key usage); have it issued for TLS servers';
  return null;
}

/** `CN (O)` of a distinguished name, or what there is of the two. */
function shortName(name: string): string {
  const part = (type: string): string | undefined =>
    name
      .split('\n')
      .find((line) => line.startsWith(`${type}=`))
      ?.slice(type.length + 1);
  const common = part('CN');
  const organisation = part('O');
  if (common === undefined) return organisation ?? name.replaceAll('\n', ', ');
  return organisation === undefined ? common : `${common} (${organisation})`;
}
