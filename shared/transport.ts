import { createHash, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { pemBlocks } from './certificates/pem.ts';
import { type Domain, parseDomain } from './values/host.ts';
import { accepted, type Parsed, refused } from './values/parsed.ts';

/** More than anybody's own authorities take up (characters). */
export const MOST_CA_TEXT = 65_536;
/** The longest that a target may be told to take (s); no limit at all is said as 0. */
export const MAX_ANSWER_SECS = 86_400;
export const MAX_DIAL_SECS = 60;
/** The head of an answer may be so much (bytes), where nothing is said and at the ends of what may be. */
export const RESPONSE_HEADER_BYTES = { least: 16_384, usual: 262_144, most: 1_048_576 } as const;

/** How the targets of a pool are spoken to, where that is not HTTP/1.1 with a certificate that everybody trusts. */
export type TransportSpec = {
  /** `h2`: HTTP/2 over TLS; `h2c`: HTTP/2 without (RFC 9113 3.3). HTTP/1.1 where it is left out. */
  readonly protocol?: 'h2' | 'h2c' | undefined;
  /** The name that the certificate must show, and that is asked for in the handshake (SNI, RFC 6066 3). */
  readonly server_name?: string | undefined;
  /** PEM: who vouches for the certificate, in place of those whom the system trusts. */
  readonly ca?: string | undefined;
  /** Whether the certificate may be anybody's. */
  readonly insecure?: boolean | undefined;
  /** Seconds that a connection may take to stand, name look-up and TLS included. */
  readonly dial_timeout_secs?: number | undefined;
  /** Seconds from the end of a request until its answer must begin; 0 is no limit. */
  readonly response_header_timeout_secs?: number | undefined;
  /** Seconds between two pieces of an answer's body; 0 is no limit. */
  readonly read_timeout_secs?: number | undefined;
  /** Bytes of an answer's head, status line and fields together. */
  readonly max_response_header_bytes?: number | undefined;
};

/** Reads the name that a certificate must show. An address can't be asked for in a handshake (RFC 6066 3). */
export function readServerName(text: string): Parsed<Domain> {
  if (isIP(text) !== 0) return refused('it is an address; a certificate is asked for by a name');
  if (text.startsWith('*')) return refused('it is a pattern; a certificate is asked for by one name');
  return parseDomain(text);
}

/** Reads PEM certificates of authorities. What else lies in the same file is left out: a key goes nowhere. */
export function readAuthorities(text: string): Parsed<string> {
  if (text.length > MOST_CA_TEXT) return refused(`more than ${MOST_CA_TEXT} characters; name only those who are needed`);
  const blocks = pemBlocks(text);
  if (!blocks.ok) return blocks;
  const certificates = blocks.value.filter(({ label }) => label === 'CERTIFICATE');
  if (certificates.length === 0) return refused('there is no certificate in it (PEM: -----BEGIN CERTIFICATE-----)');
  const unreadable = certificates.findIndex((block) => !isCertificate(block.text));
  if (unreadable >= 0) return refused(`certificate ${unreadable + 1} can't be read; export it again`);
  return accepted(certificates.map((block) => block.text).join(''));
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).raw.length > 0;
  } catch {
    // The library's words are a code, which helps nobody.
    return false;
  }
}

/**
 * The name of a transport: equal for equal ones, different for different ones, and empty for the usual one.
 * Whatever is spoken to in two manners is two targets: what holds for one may not hold for the other. Limits of time say
 * nothing about the target: with another one it is the same as before.
 */
export function transportName(transport: TransportSpec | null | undefined): string {
  if (transport == null) return '';
  const { protocol, server_name: name, ca, insecure } = transport;
  const parts = [protocol, name && `tls_server_name=${name}`, ca && `ca=${fingerprint(ca)}`, insecure && 'insecure'];
  return parts.filter((part) => typeof part === 'string' && part !== '').join(' ');
}

const fingerprint = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);

/** Why a pool can't be spoken to so; null where it can. `tls` is whether TLS is spoken to it. */
export function whyNotSo({ protocol, server_name: name, ca, insecure }: TransportSpec, tls: boolean): string | null {
  if (protocol === 'h2' && !tls) return 'h2 is HTTP/2 over TLS, and the targets are spoken to without; h2c is without';
  if (protocol === 'h2c' && tls) return 'h2c is HTTP/2 without TLS, and the targets are spoken to with it; h2 is with it';
  if (!tls && (name !== undefined || ca !== undefined || insecure === true))
    return 'server_name, ca and insecure are about certificates, and the targets are spoken to without TLS';
  if (insecure === true && ca !== undefined) return "ca says whose certificate it must be, and insecure that it may be anybody's; keep one";
  return null;
}
