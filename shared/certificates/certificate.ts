import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { accepted, type Parsed, refused } from '../values/parsed.ts';
import { namesOf } from './certificate-names.ts';
import { type PemBlock, pemBlocks } from './pem.ts';

/** A validated certificate chain with its private key. */
export type Certificate = {
  /** The DNS names, wildcards as written, and addresses that it covers. Lower case, never empty. */
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

/** Where the two texts came from, for error messages: members of a request, or paths of files. */
export type Places = { readonly certificate: string; readonly privateKey: string };

const MEMBERS: Places = { certificate: 'certificate', privateKey: 'private_key' };
/** RFC 5280 4.2.1.12: for TLS servers, and for everything. */
const FOR_SERVERS = new Set(['1.3.6.1.5.5.7.3.1', '2.5.29.37.0']);
const CURVES: ReadonlySet<string> = new Set(['prime256v1', 'secp384r1']);
const LEAST_RSA_BITS = 2_048;

/**
 * Reads a chain and its private key, both in PEM and possibly in one text. A chain in the wrong order is sorted, and
 * unrelated certificates are dropped. Keys are RSA of 2,048 bits or more, P-256, P-384 or Ed25519. The validity period
 * is not checked. A refusal says which of the `places` is wrong, and what to do.
 */
export function readCertificate(chainText: string, keyText: string, places: Places = MEMBERS): Parsed<Certificate> {
  const key = readKey(keyText, places.privateKey);
  if (!key.ok) return key;
  const chain = readChain(chainText, places.certificate);
  if (!chain.ok) return chain;
  const leaf = chain.value.find(({ parsed }) => parsed.checkPrivateKey(key.value.parsed));
  if (leaf === undefined)
    return refused(
      `${places.privateKey}: the key does not belong to the certificate in ${places.certificate}; use the key that the certificate was issued for`,
    );
  const domains = namesOf(leaf.parsed.subjectAltName);
  const unfit = unfitLeaf(leaf.parsed, domains, chain.value.length);
  if (unfit !== null) return refused(`${places.certificate}: ${unfit}`);
  return accepted({
    domains,
    chain: inOrder(leaf, chain.value),
    privateKey: key.value.text,
    issuer: leaf.parsed.issuer === leaf.parsed.subject ? 'self-signed' : shortName(leaf.parsed.issuer),
    serial: leaf.parsed.serialNumber.toLowerCase(),
    notBefore: leaf.parsed.validFromDate.getTime(),
    notAfter: leaf.parsed.validToDate.getTime(),
  });
}

function readKey(text: string, place: string): Parsed<{ readonly parsed: KeyObject; readonly text: string }> {
  const blocks = pemBlocks(text);
  if (!blocks.ok) return refused(`${place}: ${blocks.reason}, so there is no private key to use; provide the whole file`);
  const block = blocks.value.find(({ label }) => label.endsWith('PRIVATE KEY'));
  if (block === undefined) return refused(`${place}: it contains no private key (expected PEM, -----BEGIN PRIVATE KEY-----)`);
  if (block.label.startsWith('ENCRYPTED') || block.text.includes('\nProc-Type: 4,ENCRYPTED'))
    return refused(`${place}: the private key is encrypted; remove its passphrase (openssl pkey -in KEY -out PLAIN)`);
  const parsed = parsedOr(() => createPrivateKey(block.text));
  if (parsed === null) return refused(`${place}: the private key is damaged; provide the key that was created with the certificate`);
  const reason = unfitKey(parsed);
  return reason === null ? accepted({ parsed, text: block.text }) : refused(`${place}: ${reason}`);
}

function unfitKey({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): string | null {
  const wanted = 'expected RSA of 2,048 bits or more, P-256, P-384 or Ed25519';
  if (type === 'ed25519') return null;
  if (type === 'rsa') {
    const bits = details?.modulusLength ?? 0;
    return bits >= LEAST_RSA_BITS ? null : `an RSA key of ${bits} bits is too weak (${wanted})`;
  }
  if (type !== 'ec') return `browsers do not accept ${type} keys (${wanted})`;
  const curve = details?.namedCurve ?? '';
  return CURVES.has(curve) ? null : `browsers do not accept keys on the curve ${curve} (${wanted})`;
}

type Link = PemBlock & { readonly parsed: X509Certificate };

function readChain(text: string, place: string): Parsed<readonly Link[]> {
  const blocks = pemBlocks(text);
  if (!blocks.ok) return refused(`${place}: ${blocks.reason}, so there is no certificate to use; provide the whole file`);
  const links: Link[] = [];
  for (const block of blocks.value) {
    if (!block.label.endsWith('CERTIFICATE')) continue;
    const parsed = parsedOr(() => new X509Certificate(block.text));
    if (parsed === null) return refused(`${place}: certificate ${links.length + 1} in it is damaged; download it from its issuer again`);
    links.push({ ...block, parsed });
  }
  return links.length > 0 ? accepted(links) : refused(`${place}: it contains no certificate (expected PEM, -----BEGIN CERTIFICATE-----)`);
}

/** The library's error is not readable and may quote a secret. */
function parsedOr<T>(parse: () => T): T | null {
  try {
    return parse();
  } catch {
    return null;
  }
}

/** RFC 8446 4.4.2: each certificate certifies the one before it. */
function inOrder(leaf: Link, all: readonly Link[]): string {
  if (all.length === 1) return leaf.text;
  const chain = [leaf];
  const seen = new Set([leaf.parsed.fingerprint256]);
  for (const { parsed } of chain) {
    const next = all.find((one) => !seen.has(one.parsed.fingerprint256) && parsed.checkIssued(one.parsed));
    if (next === undefined) break;
    seen.add(next.parsed.fingerprint256);
    chain.push(next);
  }
  return chain.map(({ text }) => text).join('');
}

function unfitLeaf(leaf: X509Certificate, domains: readonly string[], count: number): string | null {
  if (count > 1 && leaf.ca)
    return 'the private key belongs to an authority of the chain, not to a certificate for a site; provide the key of the certificate of the site';
  // Common names are ignored (RFC 9525 6.3).
  if (domains.length === 0) return 'the certificate covers no names, since it has no subjectAltName; have it issued with its DNS names';
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
