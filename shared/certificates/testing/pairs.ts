import 'reflect-metadata';
import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import * as x509 from '@peculiar/x509';

/** Test support: certificates and keys generated on demand, so that none in the repository expires. */
export const P256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
export const P384 = { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' };
export const P521 = { name: 'ECDSA', namedCurve: 'P-521', hash: 'SHA-512' };
export const ED25519 = { name: 'Ed25519' };
export const rsa = (modulusLength: number) => ({
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength,
  publicExponent: new Uint8Array([1, 0, 1]),
});

/** A certificate in PEM, without its chain, with its key. */
export type MadePair = { readonly certificate: string; readonly privateKey: string; readonly signs: Signer };
export type Signer = { readonly subject: string; readonly keys: webcrypto.CryptoKeyPair; readonly algorithm: webcrypto.Algorithm };
export type PairWish = {
  readonly signer?: Signer;
  readonly algorithm?: webcrypto.Algorithm;
  readonly subject?: string;
  /** Milliseconds since 1970; default: from yesterday, for 90 days. */
  readonly notBefore?: number;
  readonly notAfter?: number;
  /** Object identifiers of extended key usages. */
  readonly usages?: string[];
  readonly authority?: boolean;
};

const DAY_MS = 86_400_000;
let serials = 0;

/** Self-signed without a `signer`. */
export async function makePair(names: readonly string[], wish: PairWish = {}): Promise<MadePair> {
  const { algorithm = P256, subject = `CN=${names[0] ?? 'nobody'}`, notBefore = Date.now() - DAY_MS } = wish;
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
  const own = { subject, keys, algorithm };
  const { signer = own } = wish;
  serials++;
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: `0${serials.toString(16)}`.slice(-(2 * Math.ceil(serials.toString(16).length / 2))),
    subject,
    issuer: signer.subject,
    notBefore: new Date(notBefore),
    notAfter: new Date(wish.notAfter ?? notBefore + 90 * DAY_MS),
    publicKey: keys.publicKey,
    signingKey: signer.keys.privateKey,
    signingAlgorithm: signer.algorithm,
    extensions: [
      ...(names.length > 0
        ? [new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: isIP(value) ? 'ip' : 'dns', value })))]
        : []),
      ...(wish.usages ? [new x509.ExtendedKeyUsageExtension(wish.usages)] : []),
      ...(wish.authority ? [new x509.BasicConstraintsExtension(true, undefined, true)] : []),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(signer.keys.publicKey),
    ],
  });
  return { certificate: `${certificate.toString('pem')}\n`, privateKey: await pemOf(keys.privateKey), signs: own };
}

async function pemOf(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', key), 'PRIVATE KEY').concat('\n');
}

/** A root, an intermediate signed by it, and a leaf for these names signed by the intermediate. */
export async function makeChain(
  names: readonly string[],
  wish: PairWish = {},
): Promise<{ root: MadePair; middle: MadePair; leaf: MadePair }> {
  const root = await makePair([], { subject: 'CN=Root,O=Example Trust', authority: true });
  const middle = await makePair([], { subject: 'CN=E7,O=Example Trust', authority: true, signer: root.signs });
  const leaf = await makePair(names, { ...wish, signer: middle.signs });
  return { root, middle, leaf };
}
