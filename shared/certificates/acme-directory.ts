import { accepted, type Parsed, refused } from '../values/parsed.ts';

/** Reads an ACME directory URL (RFC 8555 7.1.1), which must be https. */
export function parseDirectoryUrl(text: string): Parsed<string> {
  const url = URL.parse(text);
  if (url === null || url.protocol !== 'https:' || url.username !== '' || url.hash !== '')
    return refused('a directory must be a URL that starts with https://, for example https://ca.example.com/acme/directory');
  return accepted(url.href);
}

/** Publicly trusted authorities, which issue only for public names. */
const PUBLIC = ['letsencrypt.org', 'pki.goog', 'zerossl.com', 'buypass.com', 'buypass.no', 'ssl.com', 'sectigo.com', 'digicert.com'];

/** Whether the authority behind a directory may issue for any name, as private ones do. */
export function issuesAnyName(directory: string): boolean {
  const host = URL.parse(directory)?.hostname ?? '';
  return !PUBLIC.some((name) => host === name || host.endsWith(`.${name}`));
}
