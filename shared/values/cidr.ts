import { BlockList, isIP } from 'node:net';
import { accepted, type Branded, type Parsed, refused } from './parsed.ts';

/** One address range as it was written: `10.0.0.0/8`, `::1`, `192.168.1.5`. */
export type Cidr = Branded<string, 'Cidr'>;

/** Reads an address or an address range. */
export function parseCidr(text: string): Parsed<Cidr> {
  const slash = text.indexOf('/');
  const address = slash < 0 ? text : text.slice(0, slash);
  const family = isIP(address);
  if (family === 0) return refused('it is no IP address or range (expected 10.0.0.0/8 or ::1)');
  if (slash >= 0) {
    const bits = text.slice(slash + 1);
    const most = family === 4 ? 32 : 128;
    if (!/^\d{1,3}$/.test(bits) || Number(bits) > most) return refused(`the prefix length is a number from 0 to ${most}`);
  }
  return accepted(text as Cidr);
}

/** One question, asked per connection: is this address inside any of the ranges? */
export function matcherOf(ranges: readonly Cidr[]): (address: string) => boolean {
  if (ranges.length === 0) return () => false;
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    const family = isIP(address) === 4 ? 'ipv4' : 'ipv6';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => {
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 4 ? 'ipv4' : 'ipv6');
  };
}
