import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP, isIPv6 } from 'node:net';
import { bits, boolean, element, integer, objectIdentifier, octets, sequence, setOf, time, utf8 } from './der.ts';

type Pair = { readonly cert: string; readonly key: string };
type Keys = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
/** From when to when a certificate is valid. */
type Period = readonly [from: Date, to: Date];

/** Test support: a certificate authority and the certificates it signs. */
export class CertificatesFixture {
  readonly ca: string;
  private readonly keys = newKeys();

  constructor() {
    const extensions = [extension(BASIC_CONSTRAINTS, sequence(boolean(true)), boolean(true))];
    this.ca = certificate(AUTHORITY, this.keys, { subject: AUTHORITY, keys: this.keys, extensions, period: today() });
  }

  /** A certificate for DNS names or addresses. */
  issue(...names: readonly string[]): Pair {
    return this.sign(names.map(nameOf), today());
  }

  /** A certificate for names of any kind, as OpenSSL writes them: `DNS:a.test,URI:http://a.test`. */
  issueFor(names: string): Pair {
    return this.sign(names.split(','), today());
  }

  /** The same, but expired long ago. */
  issueExpired(name: string): Pair {
    return this.sign([nameOf(name)], [new Date('2020-01-01'), new Date('2020-01-02')]);
  }

  selfSigned(name: string): Pair {
    const keys = newKeys();
    return pair(LEAF, keys, keys, [nameOf(name)], today());
  }

  private sign(names: readonly string[], period: Period): Pair {
    return pair(AUTHORITY, this.keys, newKeys(), names, period);
  }
}

const AUTHORITY = 'test authority';
const LEAF = 'leaf';
const DAY_MS = 86_400_000;
const COMMON_NAME = '2.5.4.3';
const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17';
const BASIC_CONSTRAINTS = '2.5.29.19';
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
/** By kind of name (RFC 5280 4.2.1.6). */
const NAME_TAGS: Readonly<Record<string, number>> = { email: 0x81, DNS: 0x82, URI: 0x86, IP: 0x87 };

const newKeys = (): Keys => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const today = (): Period => [new Date(), new Date(Date.now() + 2 * DAY_MS)];
const nameOf = (name: string): string => `${isIP(name) === 0 ? 'DNS' : 'IP'}:${name}`;

function pair(issuer: string, issuing: Keys, keys: Keys, names: readonly string[], period: Period): Pair {
  const extensions = [extension(SUBJECT_ALTERNATIVE_NAME, sequence(...names.map(generalName)))];
  return {
    cert: certificate(issuer, issuing, { subject: LEAF, keys, extensions, period }),
    key: keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** An X.509 certificate of version 3 in PEM (RFC 5280 4.1). */
function certificate(
  issuer: string,
  issuing: Keys,
  { subject, keys, extensions, period }: { subject: string; keys: Keys; extensions: readonly Buffer[]; period: Period },
): string {
  const algorithm = sequence(objectIdentifier(ECDSA_WITH_SHA256));
  const content = sequence(
    element(0xa0, integer(Uint8Array.of(2))),
    integer(Buffer.concat([Uint8Array.of(1), randomBytes(15)])),
    algorithm,
    commonName(issuer),
    sequence(...period.map(time)),
    commonName(subject),
    keys.publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa3, sequence(...extensions)),
  );
  const der = sequence(content, algorithm, bits(sign('sha256', content, issuing.privateKey)));
  const lines = der.toString('base64').replace(/.{64}/g, '$&\n').trimEnd();
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

const commonName = (name: string): Buffer => sequence(setOf(sequence(objectIdentifier(COMMON_NAME), utf8(name))));

const extension = (id: string, value: Uint8Array, ...critical: readonly Uint8Array[]): Buffer =>
  sequence(objectIdentifier(id), ...critical, octets(value));

/** @throws if the kind of name is unknown. */
function generalName(written: string): Buffer {
  const colon = written.indexOf(':');
  const [kind, name] = [written.slice(0, colon), written.slice(colon + 1)];
  const tag = NAME_TAGS[kind];
  if (tag === undefined) throw new Error(`${kind} is no kind of name`);
  return element(tag, kind === 'IP' ? addressBytes(name) : Buffer.from(name));
}

function addressBytes(address: string): Uint8Array {
  if (!isIPv6(address)) return Uint8Array.from(address.split('.').map(Number));
  const [before = [], after = []] = address.split('::').map((half) => (half === '' ? [] : half.split(':')));
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join(''), 'hex');
}
