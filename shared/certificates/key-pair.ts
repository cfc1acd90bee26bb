import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { accepted, type Parsed, refused } from '../values/parsed.ts';
import { type PemBlock, pemBlocks } from './pem.ts';
import { isTooWeak } from './weak-authority.ts';

/** A certificate with the private key that belongs to it. What it is for has not been checked. */
export type KeyPair = {
  readonly leaf: X509Certificate;
  /** How many certificates the text has, the leaf included. */
  readonly count: number;
  /** PEM: the leaf first, each followed by its issuer. */
  readonly chain: string;
  /** PEM. */
  readonly privateKey: string;
};

/** Where the two texts came from, for error messages: members of a request, or paths of files. */
export type PemOrigins = { readonly certificate: string; readonly privateKey: string };

const CURVES: ReadonlySet<string> = new Set(['prime256v1', 'secp384r1']);
const MIN_RSA_BITS = 2_048;

/**
 * Reads a chain and its private key, both in PEM and possibly in one text. A chain in the wrong order is sorted, and unrelated
 * certificates are dropped, as is a root whose key is too weak. Keys are RSA of 2,048 bits or more, P-256, P-384 or Ed25519. A refusal says
 * which of the `places` is wrong, and what to do.
 */
export function readKeyPair(chainText: string, keyText: string, places: PemOrigins): Parsed<KeyPair> {
  const key = readKey(keyText, places.privateKey);
  if (!key.ok) return key;
  const chain = readChain(chainText, places.certificate);
  if (!chain.ok) return chain;
  const leaf = chain.value.find(({ parsed }) => parsed.checkPrivateKey(key.value.parsed));
  if (leaf === undefined)
    return refused(
      `${places.privateKey}: the key does not belong to the certificate in ${places.certificate}; use the key that the certificate was issued for`,
    );
  const ordered = withoutWeakRoot(inOrder(leaf, chain.value));
  const weak = ordered.find((link) => link !== leaf && isTooWeak(link.text));
  if (weak !== undefined)
    return refused(
      `${places.certificate}: the key of an authority in the chain is too weak (${weak.parsed.subject.replaceAll('\n', ', ')}); have the certificate issued by another one`,
    );
  const text = ordered.map((link) => link.text).join('');
  return accepted({ leaf: leaf.parsed, count: chain.value.length, chain: text, privateKey: key.value.text });
}

function readKey(text: string, place: string): Parsed<{ readonly parsed: KeyObject; readonly text: string }> {
  const blocks = pemBlocks(text);
  if (!blocks.ok) return refused(`${place}: ${blocks.reason}, so there is no private key to use; provide the whole file`);
  const block = blocks.value.find(({ label }) => label.endsWith('PRIVATE KEY'));
  if (block === undefined)
    return refused(
      `${place}: it contains no private key${isBinary(text) ? conversion('pkey') : ' (expected PEM, -----BEGIN PRIVATE KEY-----)'}`,
    );
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
    return bits >= MIN_RSA_BITS ? null : `an RSA key of ${bits} bits is too weak (${wanted})`;
  }
  if (type !== 'ec') return `${type} keys are not supported (${wanted})`;
  const curve = details?.namedCurve ?? '';
  return CURVES.has(curve) ? null : `keys on the curve ${curve} are not supported (${wanted})`;
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
  if (links.length > 0) return accepted(links);
  const isBundle = blocks.value.some(({ label }) => label === 'PKCS7');
  if (isBundle)
    return refused(`${place}: it contains no certificate but PKCS #7; convert it (openssl pkcs7 -print_certs -in FILE -out PEM)`);
  return refused(
    `${place}: it contains no certificate${isBinary(text) ? conversion('x509') : ' (expected PEM, -----BEGIN CERTIFICATE-----)'}`,
  );
}

/** Whether a text was a DER or PKCS #12 file: a sequence (X.690 8.9) whose length is no character of UTF-8, or a short one. */
const isBinary = (text: string): boolean => /^0[^\t\n\r -~]/.test(text) || /^0[ -~]\x02\x01/.test(text);

const conversion = (command: 'pkey' | 'x509'): string =>
  ` in PEM but is binary; convert it (openssl pkcs12 -in FILE -out PEM -nodes for .p12 and .pfx, else openssl ${command} -inform der -in FILE -out PEM)`;

/** The library's error is not readable and may quote a secret. */
function parsedOr<T>(parse: () => T): T | null {
  try {
    return parse();
  } catch {
    return null;
  }
}

/** RFC 8446 4.4.2: each certificate certifies the one before it. */
function inOrder(leaf: Link, all: readonly Link[]): readonly Link[] {
  if (all.length === 1) return [leaf];
  const chain = [leaf];
  const seen = new Set([leaf.parsed.fingerprint256]);
  for (const { parsed } of chain) {
    const next = all.find((one) => !seen.has(one.parsed.fingerprint256) && parsed.checkIssued(one.parsed));
    if (next === undefined) break;
    seen.add(next.parsed.fingerprint256);
    chain.push(next);
  }
  return chain;
}

/** RFC 8446 4.4.2: the root may be omitted, since it is of use only to those that have it. */
function withoutWeakRoot(chain: readonly Link[]): readonly Link[] {
  const root = chain.at(-1);
  const isRoot = root !== undefined && chain.length > 1 && root.parsed.subject === root.parsed.issuer;
  return isRoot && isTooWeak(root.text) ? chain.slice(0, -1) : chain;
}
