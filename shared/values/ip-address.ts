import { isIP, SocketAddress } from 'node:net';

const IPV4_IN_IPV6 = /^::ffff:(?=.*\.)/;

/** An IP address as connections report it (RFC 5952); an IPv4 address in IPv6 as IPv4. Other text, and addresses with a zone, stay as they are. */
export function canonicalIp(text: string): string {
  if (isIP(text) !== 6 || text.includes('%')) return text;
  return new SocketAddress({ address: text, family: 'ipv6' }).address.replace(IPV4_IN_IPV6, '');
}
