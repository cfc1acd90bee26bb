import { Resolver } from 'node:dns/promises';
import { SocketAddress } from 'node:net';
import { BOTS } from '../../shared/policy/under-attack/bots.ts';
import type { BotClaim } from '../traffic/protocol.ts';

/** How long each of the two questions may take (ms). */
const TIMEOUT_MS = 2_000;
/** How many names of an address are considered, and how many of those are resolved. The owner of the address decides how many it has. */
const MAX_NAMES = 8;
const MAX_RESOLVED = 2;

/** The answer from DNS; rejects if there is none. */
export type Dns = {
  pointers(name: string): Promise<readonly string[]>;
  /** A or AAAA, like the address that is verified. */
  resolve(name: string, family: 4 | 6): Promise<readonly string[]>;
};

/** `servers` for tests; the system's by default. */
export function systemDns(servers?: readonly string[]): Dns {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1, maxTimeout: TIMEOUT_MS });
  if (servers !== undefined) resolver.setServers(servers);
  return {
    pointers: (name) => resolver.resolvePtr(name),
    resolve: (name, family) => (family === 4 ? resolver.resolve4(name) : resolver.resolve6(name)),
  };
}

/**
 * Whether an address has a name in a domain of the search engine, and that name has the address: its owner can give an address any name,
 * but only the owner of the domain decides which addresses the name has. null if DNS does not answer.
 */
export async function isBotAddress({ bot, address }: BotClaim, dns: Dns): Promise<boolean | null> {
  // IPv4 within IPv6 has no names.
  if (address.includes(':') && address.includes('.')) return false;
  try {
    const names = await dns.pointers(reverseName(address));
    for (const name of names.slice(0, MAX_NAMES).map(plainName).filter(isIn(BOTS[bot].domains)).slice(0, MAX_RESOLVED)) {
      const addresses = await dns.resolve(name, address.includes(':') ? 6 : 4);
      if (addresses.some((one) => canonical(one) === canonical(address))) return true;
    }
    return false;
  } catch (error) {
    return NOT_THERE.has((error as NodeJS.ErrnoException).code ?? '') ? false : null;
  }
}

/** DNS has answered that there is no such name. */
const NOT_THERE: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);

/** Where DNS has the names of an address (RFC 1035 3.5, RFC 3596 2.5). */
function reverseName(address: string): string {
  if (!address.includes(':')) return `${address.split('.').reverse().join('.')}.in-addr.arpa`;
  const [left = [], right = []] = address.split('::').map((half) => half.split(':').filter((group) => group !== ''));
  const groups = [...left, ...new Array<string>(8 - left.length - right.length).fill('0'), ...right];
  const digits = groups.map((group) => group.padStart(4, '0')).join('');
  return `${[...digits].reverse().join('.')}.ip6.arpa`;
}

const plainName = (name: string): string => name.toLowerCase().replace(/\.$/, '');

const isIn =
  (domains: readonly string[]) =>
  (name: string): boolean =>
    domains.some((domain) => name.endsWith(`.${domain}`)) && /^[a-z0-9_.-]{1,253}$/.test(name);

const canonical = (address: string): string => {
  const family = address.includes(':') ? 'ipv6' : 'ipv4';
  return new SocketAddress({ address, family }).address;
};
