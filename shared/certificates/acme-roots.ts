import { type Parsed, refused } from '../values/parsed.ts';
import { readAuthorities } from './authorities.ts';

/** Characters. Globals are passed to a starting data plane in an environment variable, which is limited to 128 KB. */
const MAX = 65_536;

/** Reads the roots, in PEM, that verify the ACME server's HTTPS. */
export function readAcmeRoots(text: string): Parsed<string> {
  const roots = readAuthorities(text);
  if (roots.ok && roots.value.length > MAX)
    return refused(`more than ${MAX} characters of certificates; include only the roots of this authority`);
  return roots;
}
