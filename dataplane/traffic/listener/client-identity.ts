import { createHash, type X509Certificate } from 'node:crypto';
import { shortAddress } from '../../../shared/certificates/certificate-names.ts';
import type { ClientIdentity, NameKind } from '../exchange/client-identity.ts';

/** Names of each kind in Node's text of subjectAltName. */
const KINDS: Readonly<Record<NameKind, string>> = { dns_names: 'DNS', emails: 'email', ips: 'IP Address', uris: 'URI' };
/** One entry of that text; a value with special characters is a JSON string. */
const ENTRY = /(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g;

/** The certificate that a client has presented and the handshake has verified. Each text is made when it is first used. */
export class PresentedIdentity implements ClientIdentity {
  private readonly certificate: X509Certificate;
  private readonly texts = new Map<string, string>();

  constructor(certificate: X509Certificate) {
    this.certificate = certificate;
  }

  get subject(): string {
    return this.once('subject', ({ subject }) => distinguishedName(subject));
  }

  get issuer(): string {
    return this.once('issuer', ({ issuer }) => distinguishedName(issuer));
  }

  get serial(): string {
    return this.once('serial', ({ serialNumber }) => decimal(serialNumber));
  }

  get fingerprint(): string {
    return this.once('fingerprint', ({ raw }) => createHash('sha256').update(raw).digest('hex'));
  }

  get der(): string {
    return this.once('der', ({ raw }) => raw.toString('base64'));
  }

  name(kind: NameKind, nth: number): string {
    return this.once(`${kind} ${nth}`, ({ subjectAltName }) => {
      const name = namesIn(subjectAltName ?? '', KINDS[kind])[nth] ?? '';
      return kind === 'ips' ? shortAddress(name) : name;
    });
  }

  private once(name: string, read: (certificate: X509Certificate) => string): string {
    const known = this.texts.get(name);
    if (known !== undefined) return known;
    const text = ascii(read(this.certificate));
    this.texts.set(name, text);
    return text;
  }
}

/**
 * Node's text of a name, one line for each part and its values escaped as in RFC 4514 2.4, in the form of that RFC: the last part first.
 * Absent for an empty name, although its type in Node does not say so.
 */
const distinguishedName = (lines: string | undefined): string =>
  (lines ?? '')
    .split('\n')
    .map((part) => part.split(' + ').reverse().join('+'))
    .reverse()
    .join(',');

/** OpenSSL writes hexadecimal digits, after a minus for a negative number. */
const decimal = (hexadecimal: string): string =>
  hexadecimal.startsWith('-') ? `-${BigInt(`0x${hexadecimal.slice(1)}`)}` : `${BigInt(`0x${hexadecimal}`)}`;

function namesIn(text: string, wanted: string): string[] {
  const names: string[] = [];
  for (const [, kind, value = ''] of text.matchAll(ENTRY))
    if (kind === wanted) names.push(value.startsWith('"') ? JSON.parse(value) : value);
  return names;
}

/** Fields are ASCII, so other characters are escaped as RFC 4514 2.4 allows: each byte as a backslash and two digits. */
const ascii = (text: string): string =>
  text.replace(/[^\x20-\x7e]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `\\${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );
