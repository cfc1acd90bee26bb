import { accepted, type Parsed, refused } from '../values/parsed.ts';
import { remembered } from '../values/remembered.ts';
import { certificatesIn, textOf } from './authorities.ts';

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
  const certificates = certificatesIn(text);
  if (!certificates.ok) return certificates;
  const all = certificates.value;
  if (all.every(({ parsed }) => parsed.issuer !== parsed.subject))
    return refused('it contains no root, so no client certificate can be verified; add the self-signed root certificate');
  const notAfter = Math.min(...all.map(({ parsed }) => parsed.validToDate.getTime()));
  return accepted({ text: textOf(all), count: all.length, notAfter });
}, MAX_REMEMBERED);
