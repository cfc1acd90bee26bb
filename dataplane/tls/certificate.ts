import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { accepted, type Parsed, refused } from '../../shared/parsed.ts';

/** A certificate with its key, read and checked. */
export type Certificate = {
  /** What it is good for: DNS names, wildcards as they are written, and addresses. Lower case. */
  readonly domains: readonly string[];
  /** PEM, the leaf first. */
  readonly chain: string;
  /** PEM. */
  readonly privateKey: string;
  /** Who signed it, for people. */
  readonly issuer: string;
  /** Hexadecimal. */
  readonly serial: string;
  /** Milliseconds since 1970. */
  readonly notBefore: number;
  readonly notAfter: number;
};

const BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const KEY_BLOCK = /-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----[^-]+-----END (?:[A-Z]+ )?PRIVATE KEY-----/;

/** Reads a chain and its private key, both PEM. The reason for a refusal says what to do. */
export function readCertificate(chainText: string, keyText: string): Parsed<Certificate> {
  const key = readKey(keyText);
  if (!key.ok) return key;
  const chain = readChain(chainText);
  if (!chain.ok) return chain;
  const leaf = chain.value.find((one) => one.checkPrivateKey(key.value));
  if (leaf === undefined) return refused('the private key belongs to another certificate; give the key that the request was signed with');
  if (leaf.ca && chain.value.length > 1)
    return refused('the private key belongs to an authority of the chain, not to a certificate for a site');
  const domains = namesOf(leaf);
  if (domains.length === 0) return refused('the certificate is for no name: it has no subjectAltName');
  return accepted({
    domains,
    chain: inOrder(leaf, chain.value)
      .map((one) => one.toString().trim())
      .join('\n')
      .concat('\n'),
    privateKey: keyText.match(KEY_BLOCK)?.[0].concat('\n') ?? keyText,
    issuer: issuerOf(leaf),
    serial: leaf.serialNumber.toLowerCase(),
    notBefore: Date.parse(leaf.validFrom),
    notAfter: Date.parse(leaf.validTo),
  });
}

function readKey(text: string): Parsed<KeyObject> {
  if (/ENCRYPTED/.test(text))
    return refused('the private key is encrypted; write it without a passphrase (openssl pkey -in KEY -out PLAIN)');
  const block = text.match(KEY_BLOCK)?.[0];
  if (block === undefined) return refused('there is no private key: PEM has a line "-----BEGIN PRIVATE KEY-----"');
  try {
    return accepted(createPrivateKey(block));
  } catch {
    return refused('the private key is damaged');
  }
}

function readChain(text: string): Parsed<X509Certificate[]> {
  const blocks = text.match(BLOCK) ?? [];
  if (blocks.length === 0) return refused('there is no certificate: PEM has a line "-----BEGIN CERTIFICATE-----"');
  try {
    return accepted(blocks.map((block) => new X509Certificate(block)));
  } catch {
    return refused('a certificate is damaged');
  }
}

/** RFC 8446 4.4.2: each certifies the one before it. What belongs to no link of the chain is left out. */
function inOrder(leaf: X509Certificate, all: readonly X509Certificate[]): X509Certificate[] {
  const chain = [leaf];
  for (;;) {
    const last = chain.at(-1) as X509Certificate;
    const next = all.find((one) => !chain.includes(one) && last.checkIssued(one));
    if (next === undefined) return chain;
    chain.push(next);
  }
}

/** Common names count for nothing (RFC 9525 6.3). */
function namesOf({ subjectAltName }: X509Certificate): string[] {
  if (subjectAltName === undefined) return [];
  return subjectAltName.split(', ').flatMap((entry) => {
    const colon = entry.indexOf(':');
    const kind = entry.slice(0, colon);
    return kind === 'DNS' || kind === 'IP Address' ? [entry.slice(colon + 1).toLowerCase()] : [];
  });
}

function issuerOf({ issuer }: X509Certificate): string {
  const parts = new Map(issuer.split('\n').map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]));
  return [parts.get('O'), parts.get('CN')].filter((part) => part !== undefined).join(', ') || issuer.replaceAll('\n', ', ');
}
