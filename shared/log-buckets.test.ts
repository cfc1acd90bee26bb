import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketOf, valueIn } from './log-buckets.ts';

test('a value read from its bucket is at most 2 % off, from a tenth of a millisecond to an hour', () => {
  for (let value = 0.1001; value < 3_600_000; value *= 1.0107) {
    const error = Math.abs(valueIn(bucketOf(value)) / value - 1);
    assert.ok(error < 0.0201, `${value}: ${error}`);
  }
});

test('tiny values count as zero, and buckets rise with their values', () => {
  assert.deepEqual([0, 0.05, 0.1].map(bucketOf), [0, 0, 0]);
  assert.equal(valueIn(0), 0);
  assert.deepEqual([0.11, 1, 1_000, 60_000].map(bucketOf), [3, 59, 235, 340]);
});
