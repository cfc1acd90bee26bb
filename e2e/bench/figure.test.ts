import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atLeast, atMost, isMet, median, percentile, shown, spreadOf } from './figure.ts';

test('half of all rounds are within the spread around the median', () => {
  assert.equal(median([3, 1, 2, 5, 4]), 3);
  assert.equal(spreadOf([8, 9, 10, 11, 12]), 0.1);
  assert.equal(spreadOf([7]), 0);
});

test('a percentile is one of the values', () => {
  assert.equal(percentile([1, 2, 3, 4], 0.5), 2);
  assert.equal(percentile([1, 2, 3, 4], 0.99), 4);
  assert.equal(percentile([1, 2, 3, 4], 0), 1);
});

test('a figure that could not be measured meets no goal', () => {
  assert.equal(isMet(atLeast('a', 1, 'x', 1)), true);
  assert.equal(isMet(atMost('a', 2, 'x', 1)), false);
  assert.equal(isMet(atLeast('a', Number.NaN, 'x', 1)), false);
  assert.equal(isMet(atMost('a', Number.NaN, 'x', 1)), false);
  assert.equal(isMet(shown('a', Number.NaN, 'x')), true);
});
