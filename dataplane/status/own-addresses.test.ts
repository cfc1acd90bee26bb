import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { ownAddresses } from './own-addresses.ts';

const ipv4 = (address: string, internal = false) => ({
  address,
  netmask: '255.255.0.0',
  family: 'IPv4' as const,
  mac: '02:42:ac:12:00:02',
  internal,
  cidr: `${address}/16`,
});
const ipv6 = (address: string, internal = false) => ({
  address,
  netmask: 'ffff:ffff:ffff:ffff::',
  family: 'IPv6' as const,
  mac: '02:42:ac:12:00:02',
  internal,
  cidr: `${address}/64`,
  scopeid: 0,
});

test('addresses of all interfaces are listed once and sorted, without loopback and link-local ones', () => {
  const interfaces = {
    lo: [ipv4('127.0.0.1', true), ipv6('::1', true)],
    eth1: [ipv4('172.19.0.3'), ipv6('fe80::42:acff:fe12:2'), ipv6('fd00:1::2')],
    eth0: [ipv4('172.18.0.2'), ipv4('169.254.7.9'), ipv6('febf::1'), ipv6('fec0::1')],
    eth2: [ipv4('172.18.0.2')],
  };
  assert.deepEqual(ownAddresses(interfaces), ['172.18.0.2', '172.19.0.3', 'fd00:1::2', 'fec0::1']);
});

test('a machine without a network has no addresses', () => {
  assert.deepEqual(ownAddresses({ lo: [ipv4('127.0.0.1', true)] }), []);
  for (const address of ownAddresses(networkInterfaces())) assert.doesNotMatch(address, /^(127\.|::1$|fe80)/);
});
