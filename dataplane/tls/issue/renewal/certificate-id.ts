import { X509Certificate } from 'node:crypto';

const SEQUENCE = 0x30;
const INTEGER = 0x02;
const OCTETS = 0x04;
/** [0] VERSION and [3] EXTENSIONS of a certificate (RFC 5280 4.1). */
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;
/** [0] keyIdentifier (RFC 5280 4.2.1.1). */
const KEY_IDENTIFIER = 0x80;
/** The extension authorityKeyIdentifier, 2.5.29.35, as it is written. */
const AUTHORITY_KEY = Buffer.from('0603551d23', 'hex');

/**
 * The ARI CertID of the first certificate in a PEM text (RFC 9773 4.1): its authority key identifier and serial number.
 * null if the certificate is malformed or has no authority key identifier.
 */
export function certificateId(pem: string): string | null {
  try {
    const [certificate] = elements(new X509Certificate(pem).raw);
    const [signed] = elements(contentOf(certificate, SEQUENCE));
    const fields = elements(contentOf(signed, SEQUENCE));
    const serial = contentOf(fields[fields[0]?.tag === VERSION ? 1 : 0], INTEGER);
    const key = authorityKey(fields.find(({ tag }) => tag === EXTENSIONS));
    return key === null ? null : `${key.toString('base64url')}.${serial.toString('base64url')}`;
  } catch {
    // Other code reports a malformed certificate; without an id there is just no ARI.
    return null;
  }
}

function authorityKey(field: Element | undefined): Buffer | null {
  if (field === undefined) return null;
  const [extensions] = elements(field.content);
  for (const { content } of elements(contentOf(extensions, SEQUENCE))) {
    if (!content.subarray(0, AUTHORITY_KEY.length).equals(AUTHORITY_KEY)) continue;
    const [value] = elements(contentOf(elements(content).at(-1), OCTETS));
    return elements(contentOf(value, SEQUENCE)).find(({ tag }) => tag === KEY_IDENTIFIER)?.content ?? null;
  }
  return null;
}

/** One DER element: its tag and content. */
type Element = { readonly tag: number; readonly content: Buffer };

/** @throws RangeError if the bytes are not DER. */
function elements(bytes: Buffer): Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes.readUInt8(at);
    const first = bytes.readUInt8(at + 1);
    const more = first < 0x80 ? 0 : first & 0x7f;
    const length = more === 0 ? first : bytes.readUIntBE(at + 2, more);
    const start = at + 2 + more;
    if (start + length > bytes.length) throw new RangeError('a length exceeds the input');
    found.push({ tag, content: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return found;
}

function contentOf(element: Element | undefined, tag: number): Buffer {
  if (element?.tag !== tag) throw new RangeError('unexpected DER tag');
  return element.content;
}
