import { readAuthorities } from '../transport.ts';
import { type Parsed, refused } from '../values/parsed.ts';

/** Characters. Globals reach a starting data plane through its environment, where one variable holds 128 KB. */
const MOST = 65_536;

/** Reads the roots, in PEM, that the HTTPS of the authority for certificates is verified by. */
export function readAcmeRoots(text: string): Parsed<string> {
  const roots = readAuthorities(text);
  if (roots.ok && roots.value.length > MOST)
    return refused(`more than ${MOST} characters of certificates; name only the roots of this authority`);
  return roots;
}
