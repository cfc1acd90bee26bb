import { BlockList, isIPv6 } from 'node:net';

/** Loopback, and the networks that the internet does not route (RFC 1918, 4193, 6598). Link-local ones, where clouds have metadata, are none. */
const networks = new BlockList();
for (const [network, bits] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
] as const)
  networks.addSubnet(network, bits, 'ipv4');
networks.addAddress('::1', 'ipv6');
networks.addSubnet('fc00::', 7, 'ipv6');

/** Whether an IP address is loopback or private, also in its IPv4-mapped form. */
export const isPrivateAddress = (address: string): boolean => networks.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
