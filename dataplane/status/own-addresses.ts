import type { NetworkInterfaceInfo } from 'node:os';

/** IPv4 (RFC 3927) and IPv6 (RFC 4291 2.5.6). */
const LINK_LOCAL = /^(169\.254\.|fe[89ab][0-9a-f]:)/i;

/** The sorted addresses at which others may reach this machine or container, without loopback and link-local ones. */
export function ownAddresses(interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>): string[] {
  const all = Object.values(interfaces).flatMap((infos) => infos ?? []);
  const known = all.filter(({ internal, address }) => !internal && !LINK_LOCAL.test(address)).map(({ address }) => address);
  return [...new Set(known)].sort();
}
