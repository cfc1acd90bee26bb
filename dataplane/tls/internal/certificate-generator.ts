import { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import type * as X509 from '@peculiar/x509';
import type { Random } from '../../../shared/runtime/random.ts';

type Library = typeof X509;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
/** The maximum length of a common name (RFC 5280 A.1). */
const LONGEST_NAME = 64;
const SERIAL_BYTES = 16;

/** A certificate and its private key, both PEM. */
export type GeneratedPair = { readonly certificate: string; readonly privateKey: string };
/** Milliseconds since 1970. */
export type Lifetime = { readonly notBefore: number; readonly notAfter: number };

/** The root parsed for signing, and the extensions shared by all leaves. */
type Signer = { readonly name: X509.Name; readonly key: webcrypto.CryptoKey; readonly extensions: readonly X509.Extension[] };

/** Generates P-256 certificates. */
export class CertificateGenerator {
  private readonly library: Library;
  private readonly random: Random;
  private readonly signers = new WeakMap<GeneratedPair, Promise<Signer>>();

  private constructor(library: Library, random: Random) {
    this.library = library;
    this.random = random;
  }

  /** Loads the library on first use, since it is slow to load and often not needed. */
  static async load(random: Random): Promise<CertificateGenerator> {
    await import('reflect-metadata');
    return new CertificateGenerator(await import('@peculiar/x509'), random);
  }

  /** A self-signed root with a path length of 0. */
  async root(name: string, { notBefore, notAfter }: Lifetime): Promise<GeneratedPair> {
    const { library } = this;
    const keys = await newKeys();
    const certificate = await library.X509CertificateGenerator.createSelfSigned({
      ...{ serialNumber: this.serial(), name: [{ CN: [name] }], keys, signingAlgorithm: ALGORITHM },
      ...{ notBefore: new Date(notBefore), notAfter: new Date(notAfter) },
      extensions: [
        new library.BasicConstraintsExtension(true, 0, true),
        new library.KeyUsagesExtension(library.KeyUsageFlags.keyCertSign | library.KeyUsageFlags.cRLSign, true),
        await library.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    return this.signed(certificate, keys);
  }

  /** A certificate with a new key for one DNS name, wildcard or address. `serial` in lower-case hexadecimal. */
  async leaf(name: string, { notBefore, notAfter }: Lifetime, root: GeneratedPair): Promise<GeneratedPair & { readonly serial: string }> {
    const { library } = this;
    const issuer = await this.signerOf(root);
    const keys = await newKeys();
    const short = name.length <= LONGEST_NAME;
    const serial = this.serial();
    const certificate = await library.X509CertificateGenerator.create({
      ...{ serialNumber: serial, subject: short ? [{ CN: [name] }] : [], issuer: issuer.name },
      ...{ notBefore: new Date(notBefore), notAfter: new Date(notAfter) },
      ...{ publicKey: keys.publicKey, signingKey: issuer.key, signingAlgorithm: ALGORITHM },
      extensions: [
        // RFC 5280 4.2.1.6: the extension is critical if the subject is empty.
        new library.SubjectAlternativeNameExtension([{ type: isIP(name) === 0 ? 'dns' : 'ip', value: name }], !short),
        ...issuer.extensions,
      ],
    });
    return { ...(await this.signed(certificate, keys)), serial };
  }

  private signerOf(root: GeneratedPair): Promise<Signer> {
    const known = this.signers.get(root);
    if (known !== undefined) return known;
    const signer = this.readSigner(root);
    this.signers.set(root, signer);
    return signer;
  }

  private async readSigner({ certificate, privateKey }: GeneratedPair): Promise<Signer> {
    const { library } = this;
    const { subjectName, publicKey } = new library.X509Certificate(certificate);
    const [bytes] = library.PemConverter.decode(privateKey);
    if (bytes === undefined) throw new Error('the key of the internal authority is not PEM');
    return {
      name: subjectName,
      key: await webcrypto.subtle.importKey('pkcs8', bytes, ALGORITHM, false, ['sign']),
      extensions: [
        new library.BasicConstraintsExtension(false, undefined, true),
        new library.KeyUsagesExtension(library.KeyUsageFlags.digitalSignature, true),
        new library.ExtendedKeyUsageExtension([SERVER_AUTH]),
        await library.AuthorityKeyIdentifierExtension.create(publicKey),
      ],
    };
  }

  private async signed(certificate: X509.X509Certificate, { privateKey }: webcrypto.CryptoKeyPair): Promise<GeneratedPair> {
    const key = this.library.PemConverter.encode(await webcrypto.subtle.exportKey('pkcs8', privateKey), 'PRIVATE KEY');
    return { certificate: `${certificate.toString('pem')}\n`, privateKey: `${key}\n` };
  }

  /** A positive number (RFC 5280 4.1.2.2) without leading zeros. */
  private serial(): string {
    const bytes = this.random.bytes(SERIAL_BYTES);
    bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
    return bytes.toString('hex');
  }
}

const newKeys = async (): Promise<webcrypto.CryptoKeyPair> =>
  (await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair;
