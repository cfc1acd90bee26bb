import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalIp } from './ip-address.ts';

test('an address is spelled as connections report it', () => {
  for (const [text, expected] of [
    ['192.0.2.1', '192.0.2.1'],
    ['2001:0DB8:0:0::1', '2001:db8::1'],
    ['2001:db8::1', '2001:db8::1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:201', '192.0.2.1'],
    ['fe80::1%eth0', 'fe80::1%eth0'],
    ['lb.example', 'lb.example'],
  ] as const)
    assert.equal(canonicalIp(text), expected);
});
