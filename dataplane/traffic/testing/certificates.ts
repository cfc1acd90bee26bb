import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP } from 'node:net';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  KeyIdentifier,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';

type Pair = { readonly cert: string; readonly key: string };
type Keys = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
type Party = { readonly name: string; readonly keys: Keys };
/** From when to when a certificate is valid. */
type Period = readonly [notBefore: Date, notAfter: Date];

const DAY_MS = 86_400_000;
const COMMON_NAME = '2.5.4.3';
const ECDSA_WITH_SHA256 = new AlgorithmIdentifier({ algorithm: '1.2.840.10045.4.3.2' });

/** Test support: a certificate authority and the certificates that it signs, made without waiting or starting a program. */
export class CertificatesFixture {
  readonly ca: string;
  private readonly authority: Party = { name: 'test authority', keys: newKeys() };

  constructor() {
    const isAuthority = extension(id_ce_basicConstraints, new BasicConstraints({ cA: true }), true);
    this.ca = certificate(this.authority, this.authority, today(), isAuthority);
  }

  /** A certificate for DNS names or addresses. */
  issue(...names: readonly string[]): Pair {
    return this.sign(names.map(nameOf), today());
  }

  /** A certificate for names of any kind. */
  issueFor(...names: readonly Partial<GeneralName>[]): Pair {
    return this.sign(
      names.map((name) => new GeneralName(name)),
      today(),
    );
  }

  /** The same as `issue`, but expired long ago. */
  issueExpired(name: string): Pair {
    return this.sign([nameOf(name)], [new Date('2020-01-01'), new Date('2020-01-02')]);
  }

  selfSigned(name: string): Pair {
    const leaf = { name: 'leaf', keys: newKeys() };
    return pairOf(leaf, leaf, [nameOf(name)], today());
  }

  private sign(names: readonly GeneralName[], period: Period): Pair {
    return pairOf(this.authority, { name: 'leaf', keys: newKeys() }, names, period);
  }
}

const newKeys = (): Keys => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const today = (): Period => [new Date(), new Date(Date.now() + 2 * DAY_MS)];
const nameOf = (name: string): GeneralName => new GeneralName(isIP(name) === 0 ? { dNSName: name } : { iPAddress: name });

function pairOf(issuer: Party, subject: Party, names: readonly GeneralName[], period: Period): Pair {
  return {
    cert: certificate(issuer, subject, period, extension(id_ce_subjectAltName, new SubjectAlternativeName([...names]))),
    key: subject.keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** A certificate in PEM. Like those of real authorities, it identifies the keys: authorities may have the same name. */
function certificate(issuer: Party, subject: Party, [notBefore, notAfter]: Period, about: Extension): string {
  const content = new TBSCertificate({
    version: Version.v3,
    serialNumber: arrayOf(Buffer.concat([Uint8Array.of(1), randomBytes(15)])),
    signature: ECDSA_WITH_SHA256,
    issuer: commonName(issuer.name),
    validity: new Validity({ notBefore, notAfter }),
    subject: commonName(subject.name),
    subjectPublicKeyInfo: AsnConvert.parse(spkiOf(subject), SubjectPublicKeyInfo),
    extensions: new Extensions([
      about,
      extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(keyId(subject))),
      extension(id_ce_authorityKeyIdentifier, new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(keyId(issuer)) })),
    ]),
  });
  const signatureValue = arrayOf(sign('sha256', Buffer.from(AsnConvert.serialize(content)), issuer.keys.privateKey));
  const der = AsnConvert.serialize(new Certificate({ tbsCertificate: content, signatureAlgorithm: ECDSA_WITH_SHA256, signatureValue }));
  const lines = Buffer.from(der).toString('base64').replace(/.{64}/g, '$&\n').trimEnd();
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

const spkiOf = ({ keys }: Party): Buffer => keys.publicKey.export({ type: 'spki', format: 'der' });
const keyId = (party: Party): ArrayBuffer => arrayOf(createHash('sha1').update(spkiOf(party)).digest());

const commonName = (name: string): Name =>
  new Name([
    new RelativeDistinguishedName([new AttributeTypeAndValue({ type: COMMON_NAME, value: new AttributeValue({ utf8String: name }) })]),
  ]);

const extension = (extnID: string, value: object, critical = false): Extension =>
  new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });

const arrayOf = (bytes: Uint8Array): ArrayBuffer => Uint8Array.from(bytes).buffer;
