import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestIds } from './request-ids.ts';

test('request ids count in hexadecimal behind random digits', () => {
  const nextId = requestIds({ hex: () => '0123456789abcdef', bytes: (size) => Buffer.alloc(size), fraction: () => 0 });
  const ids = Array.from({ length: 70_000 }, nextId);
  assert.equal(new Set(ids).size, ids.length);
  for (const count of [0, 1, 15, 16, 255, 256, 257, 65_535, 65_536, 69_999])
    assert.equal(ids[count], `0123456789abcdef${count.toString(16).padStart(8, '0')}`);
});
