import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BLOCK, LAST_DIGITS, RequestIds } from './request-ids.ts';

const random = { hex: () => '0123456789abcdef', bytes: (size: number) => Buffer.alloc(size), fraction: () => 0 };

test('request ids count in hexadecimal behind random digits', () => {
  const ids = Array.from({ length: 70_000 }, new RequestIds(random).next);
  assert.equal(new Set(ids).size, ids.length);
  for (const count of [0, 1, 15, 16, 255, 256, 257, 65_535, 65_536, 69_999])
    assert.equal(ids[count], `0123456789abcdef${count.toString(16).padStart(8, '0')}`);
});

test('the ids of a block are given to nothing else', () => {
  const ids = new RequestIds(random);
  const single = Array.from({ length: 10 }, ids.next);
  const blocks = Array.from({ length: 3 }, () => ids.block()).flatMap((start) => LAST_DIGITS.map((end) => start + end));
  const later = Array.from({ length: BLOCK }, ids.next);
  const all = [...single, ...blocks, ...later];
  assert.equal(new Set(all).size, all.length);
  for (const id of all) assert.match(id, /^[0-9a-f]{24}$/);
});
