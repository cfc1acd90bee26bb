import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32c } from './crc32c.ts';

test('CRC-32C matches the test vectors of the standards', () => {
  assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283);
  assert.equal(crc32c(Buffer.alloc(32)), 0x8a9136aa);
  assert.equal(crc32c(Buffer.alloc(0)), 0);
});
