import { type Cidr, matcherOf, parseCidr } from './values/cidr.ts';
import { accepted, type Parsed } from './values/parsed.ts';

const RANGES: readonly string[] = ['127.0.0.0/8', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '::1', 'fc00::/7'];

/** The ranges of `private_ranges`: loopback and private addresses (RFC 1918, RFC 4193, RFC 4291 2.5.3). */
const PRIVATE_RANGES = RANGES as readonly Cidr[];

/** Whether an IP address is in one of them. Link-local addresses, where clouds have metadata, are in none. */
export const isPrivateAddress = matcherOf(PRIVATE_RANGES);

/** Reads a word of a config file as one or more address ranges. */
export function parseRanges(text: string): Parsed<readonly Cidr[]> {
  if (text === 'private_ranges') return accepted(PRIVATE_RANGES);
  const range = parseCidr(text);
  return range.ok ? accepted([range.value]) : range;
}
