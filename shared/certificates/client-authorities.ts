import { X509Certificate } from 'node:crypto';
import { accepted, type Parsed, refused } from '../values/parsed.ts';
import { remembered } from '../values/remembered.ts';
import { pemBlocks } from './pem.ts';

/** A larger file (characters) must be a mistake: even a bundle of all public authorities is smaller. */
export const MAX_AUTHORITIES_LENGTH = 262_144;

/** Authorities that sign client certificates: their certificates in PEM, and when the first of them expires (ms since 1970). */
export type ClientAuthorities = { readonly text: string; readonly count: number; readonly notAfter: number };

/**
 * Reads a PEM file of certificate authorities: roots, and optionally intermediates. Everything else in the file, such as a private key,
 * is dropped.
 */
export function readClientAuthorities(text: string): Parsed<ClientAuthorities> {
  if (text.length > MAX_AUTHORITIES_LENGTH)
    return refused(`more than ${MAX_AUTHORITIES_LENGTH} characters; include only the authorities that sign client certificates`);
  return authoritiesIn(text);
}

/** Many routes can have the same. */
const MAX_REMEMBERED = 32;

const authoritiesIn = remembered((text): Parsed<ClientAuthorities> => {
  const blocks = pemBlocks(text);
  if (!blocks.ok) return blocks;
  const certificates = blocks.value.filter(({ label }) => label === 'CERTIFICATE');
  if (certificates.length === 0) return refused('it contains no certificate (PEM: -----BEGIN CERTIFICATE-----)');
  let notAfter = Number.POSITIVE_INFINITY;
  let roots = 0;
  for (const [index, block] of certificates.entries()) {
    const certificate = certificateOf(block.text);
    if (certificate === null) return refused(`certificate ${index + 1} can't be read; export it again`);
    notAfter = Math.min(notAfter, certificate.validToDate.getTime());
    if (certificate.issuer === certificate.subject) roots++;
  }
  if (roots === 0) return refused('it contains no root, so no client certificate can be verified; add the self-signed root certificate');
  return accepted({ text: certificates.map((block) => block.text).join(''), count: certificates.length, notAfter });
}, MAX_REMEMBERED);

function certificateOf(text: string): X509Certificate | null {
  try {
    return new X509Certificate(text);
  } catch {
    // The library's error is not readable.
    return null;
  }
}
