import { isIP, SocketAddress } from 'node:net';
import * as z from 'zod';

const IPV4_IN_IPV6 = /^::ffff:(?=.*\.)/;

/** An IP address as connections report it (RFC 5952); an IPv4 address in IPv6 as IPv4. Other text, and addresses with a zone, stay as they are. */
export function canonicalIp(text: string): string {
  if (isIP(text) !== 6 || text.includes('%')) return text;
  return new SocketAddress({ address: text, family: 'ipv6' }).address.replace(IPV4_IN_IPV6, '');
}

/** Addresses of this machine, to compare with those of connections. */
export const localIpsSchema = z
  .array(
    z
      .string()
      .refine((text) => isIP(text) !== 0, 'it must be an IP address')
      .transform(canonicalIp),
  )
  .min(1)
  .max(1_000);
