import { isIP } from 'node:net';

/** Names that no public authority issues for: of this machine or network, reserved, or made up (RFC 6761, RFC 8375). */
const NEVER_PUBLIC = ['localhost', 'local', 'internal', 'test', 'example', 'invalid', 'home.arpa', 'onion', 'alt'];

/**
 * Why a domain of a route can have no automatic certificate; null where it can. A private authority (`anyName`) may
 * issue for every name; a public one for names with a dot that stand in the public DNS. Wildcards need `dns`.
 */
export function notIssuableReason(domain: string, { anyName, dns }: { anyName: boolean; dns: boolean }): string | null {
  if (domain === '*') return 'it is every host';
  const wildcard = domain.startsWith('*.');
  const name = wildcard ? domain.slice(2) : domain;
  if (isIP(name) !== 0) return 'it is an address';
  if (wildcard && !dns) return 'a wildcard is verified over DNS, which --acme-dns-hook or --acme-dns-server sets up';
  if (anyName) return null;
  if (!name.includes('.')) return 'it has no dot, so it is no public name';
  const reserved = NEVER_PUBLIC.find((suffix) => name === suffix || name.endsWith(`.${suffix}`));
  return reserved === undefined ? null : `no public authority issues for names under ${reserved}`;
}
