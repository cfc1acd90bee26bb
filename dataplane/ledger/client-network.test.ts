import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientNetwork } from './client-network.ts';

test('an IPv4 address counts as one client, and so does an IPv6 /64, in any spelling', () => {
  assert.equal(clientNetwork('192.0.2.1'), '192.0.2.1');
  const same = ['2001:db8::1', '2001:db8:0:0:ffff::9', '2001:db8:0:0::7', '2001:0db8::5', '2001:db8::1.2.3.4', '2001:DB8:0:0:1:2:3:4'];
  assert.deepEqual(new Set(same.map(clientNetwork)), new Set(['2001:db8:0:0']));
  assert.deepEqual(['2001:db8:0:1::1', '2001:db9::1', '::1', '::', 'fe80::1%eth0'].map(clientNetwork), [
    '2001:db8:0:1',
    '2001:db9:0:0',
    '0:0:0:0',
    '0:0:0:0',
    'fe80:0:0:0',
  ]);
});

test('an IPv4-mapped address counts as its IPv4 address, not as part of a common /64', () => {
  for (const address of ['::ffff:192.0.2.1', '::ffff:c000:201', '0:0:0:0:0:FFFF:192.0.2.1'])
    assert.equal(clientNetwork(address), '192.0.2.1');
});
