import { BlockList, isIP } from 'node:net';
import { accepted, type Branded, type Parsed, refused } from './parsed.ts';

/** One address or range in its original form: `10.0.0.0/8`, `::1`, `192.168.1.5`. */
export type Cidr = Branded<string, 'Cidr'>;

/** Reads an address or an address range. */
export function parseCidr(text: string): Parsed<Cidr> {
  const slash = text.indexOf('/');
  const address = slash < 0 ? text : text.slice(0, slash);
  const family = isIP(address);
  if (family === 0) return refused('it is not an IP address or range (expected 10.0.0.0/8 or ::1)');
  if (slash >= 0) {
    const bits = text.slice(slash + 1);
    const most = family === 4 ? 32 : 128;
    if (!/^\d{1,3}$/.test(bits) || Number(bits) > most) return refused(`the prefix length must be a number from 0 to ${most}`);
  }
  return accepted(text as Cidr);
}

/** Tests whether an address is in any of the ranges; called once per connection. */
export function matcherOf(ranges: readonly Cidr[]): (address: string) => boolean {
  if (ranges.length === 0) return () => false;
  // BlockList treats an IPv4 address as an IPv6 one as well, so `::/0` would contain it.
  const [four, six] = [new BlockList(), new BlockList()];
  for (const range of ranges) {
    const [address = '', length] = range.split('/');
    // isIP would compile its expression for IPv6, which takes 4 ms, in every process that only starts.
    const family = address.includes(':') ? 'ipv6' : 'ipv4';
    const bits = Number(length ?? (family === 'ipv4' ? 32 : 128));
    const isOfIpv4 = family === 'ipv4' || (bits >= 96 && IPV4_IN_IPV6.check(address, 'ipv6'));
    (isOfIpv4 ? four : six).addSubnet(address, bits, family);
  }
  return (address) => {
    const family = isIP(address);
    if (family === 4) return four.check(address, 'ipv4');
    return family === 6 && (six.check(address, 'ipv6') || four.check(address, 'ipv6'));
  };
}

/** RFC 4291 2.5.5.2. */
const IPV4_IN_IPV6 = new BlockList();
IPV4_IN_IPV6.addSubnet('::ffff:0:0', 96, 'ipv6');
