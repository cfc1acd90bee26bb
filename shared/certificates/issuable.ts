import { isIP } from 'node:net';

/** Suffixes that no public authority issues for: local, reserved or special-use names (RFC 6761, RFC 8375). */
const NEVER_PUBLIC = ['localhost', 'local', 'internal', 'test', 'example', 'invalid', 'home.arpa', 'onion', 'alt'];

/**
 * Why a route's domain can't have an ACME certificate; null if it can. A private authority (`anyName`) may issue for
 * every name; a public one only for names in the public DNS, which have a dot. Wildcards need `dns`.
 */
export function notIssuableReason(domain: string, { anyName, dns }: { anyName: boolean; dns: boolean }): string | null {
  if (domain === '*') return 'it matches every host';
  const wildcard = domain.startsWith('*.');
  const name = wildcard ? domain.slice(2) : domain;
  if (isIP(name) !== 0) return 'it is an address';
  if (wildcard && !dns) return 'a wildcard is verified over DNS, which --acme-dns-hook or --acme-dns-server sets up';
  if (anyName) return null;
  if (!name.includes('.')) return 'it has no dot, so it is not a public name';
  const reserved = NEVER_PUBLIC.find((suffix) => name === suffix || name.endsWith(`.${suffix}`));
  return reserved === undefined ? null : `no public authority issues for names under ${reserved}`;
}
