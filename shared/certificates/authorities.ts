import { X509Certificate } from 'node:crypto';
import { accepted, type Parsed, refused } from '../values/parsed.ts';
import { remembered } from '../values/remembered.ts';
import { type PemBlock, pemBlocks } from './pem.ts';

/** Enough for any set of private authorities (characters). */
export const MAX_CA_TEXT = 65_536;

/** Reads authorities' certificates in PEM. Everything else in the file is dropped, so that a private key never leaves it. */
export function readAuthorities(text: string): Parsed<string> {
  if (text.length > MAX_CA_TEXT) return refused(`more than ${MAX_CA_TEXT} characters; include only the authorities that are needed`);
  return authoritiesIn(text);
}

/** The blocks of many routes can have the same. */
const MAX_REMEMBERED = 256;

const authoritiesIn = remembered((text): Parsed<string> => {
  const certificates = certificatesIn(text);
  return certificates.ok ? accepted(textOf(certificates.value)) : certificates;
}, MAX_REMEMBERED);

type PemCertificate = PemBlock & { readonly parsed: X509Certificate };

/** The certificates of a PEM text in order, at least one. Everything else in it is left out. */
export function certificatesIn(text: string): Parsed<readonly PemCertificate[]> {
  const blocks = pemBlocks(text);
  if (!blocks.ok) return blocks;
  const certificates: PemCertificate[] = [];
  for (const block of blocks.value.filter(({ label }) => label === 'CERTIFICATE')) {
    const parsed = certificateOf(block.text);
    if (parsed === null) return refused(`certificate ${certificates.length + 1} can't be read; export it again`);
    certificates.push({ ...block, parsed });
  }
  return certificates.length > 0 ? accepted(certificates) : refused('it contains no certificate (PEM: -----BEGIN CERTIFICATE-----)');
}

/** The PEM text of blocks. */
export const textOf = (blocks: readonly PemBlock[]): string => blocks.map(({ text }) => text).join('');

function certificateOf(text: string): X509Certificate | null {
  try {
    return new X509Certificate(text);
  } catch {
    // The library's error is a code that would not help a user.
    return null;
  }
}
