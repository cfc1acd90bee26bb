/** The kinds of names in a subjectAltName, as placeholders call them. */
export type NameKind = 'dns_names' | 'emails' | 'ips' | 'uris';

/** The certificate that a client has presented. All texts are printable ASCII; other bytes are escaped as in RFC 4514 2.4. */
export type ClientIdentity = {
  /** RFC 4514. */
  readonly subject: string;
  readonly issuer: string;
  /** Decimal. */
  readonly serial: string;
  /** SHA-256 of the certificate, hexadecimal in lower case. */
  readonly fingerprint: string;
  /** The certificate in base64. */
  readonly der: string;
  /** The name of this kind with this index; empty if there are fewer. */
  name(kind: NameKind, nth: number): string;
};
