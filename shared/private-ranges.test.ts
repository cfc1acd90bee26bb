import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPrivateAddress } from './private-ranges.ts';

test('loopback and private networks are distinguished from public and link-local addresses', () => {
  for (const address of ['127.0.0.1', '127.9.9.9', '10.1.2.3', '172.31.0.1', '192.168.1.1', '::1', 'fd00::1', '::ffff:10.0.0.1'])
    assert.ok(isPrivateAddress(address), address);
  for (const address of [
    '8.8.8.8',
    '172.32.0.1',
    '100.64.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '::',
    'fe80::1',
    '2001:db8::1',
    '::ffff:8.8.8.8',
  ])
    assert.ok(!isPrivateAddress(address), address);
});
