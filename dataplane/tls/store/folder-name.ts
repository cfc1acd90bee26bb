import { createHash } from 'node:crypto';

/** Leaves room for a hash within the 255 bytes of a file name. */
const LONGEST = 240;
const SAFE = /^(?:\*[.@])?[a-z0-9:[][a-z0-9:._\]-]*$/;

/**
 * The folder name for a certificate with these domains (lower case), readable and stable: `a.test`, `_.a.test` for a
 * wildcard, `a.test+2-3f5b1c0a` for three names.
 * @throws Error for invalid names, so that none can escape from the store.
 */
export function folderName(domains: readonly string[]): string {
  const sorted = [...new Set(domains)].sort();
  const [first] = sorted;
  const odd = sorted.find((name) => !SAFE.test(name));
  if (first === undefined || odd !== undefined) throw new Error(`no name for a folder of certificates: ${odd ?? 'no domain'}`);
  const readable = first.replace('*', '_').slice(0, LONGEST - 14);
  return sorted.length === 1 && readable.length === first.length
    ? readable
    : `${readable}+${sorted.length - 1}-${shortHash(sorted.join(','))}`;
}

/** The file name of the account for this directory URL: its host and a hash. */
export function accountName(directory: string): string {
  const host = URL.parse(directory)?.hostname.replaceAll(/[^a-z0-9.-]/g, '-') ?? 'authority';
  return `${host}-${shortHash(directory)}.json`;
}

const shortHash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);
