import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ErrorRate } from './error-rate.ts';

test('a share of failures counts only once enough requests were seen, and is forgotten after ten seconds', () => {
  const rate = new ErrorRate();
  for (let nth = 0; nth < 9; nth++) rate.add(0, true);
  assert.equal(rate.exceeds(0.5, 10), false);
  rate.add(0, true);
  assert.equal(rate.exceeds(0.5, 10), true);
  for (let nth = 0; nth < 11; nth++) rate.add(4_999, false);
  assert.equal(rate.exceeds(0.5, 10), false, '10 of 21');
  rate.add(5_000, true);
  assert.equal(rate.exceeds(0.5, 10), true, '11 of 22, half of them in the second before');
  rate.add(10_000, true);
  assert.equal(rate.exceeds(0.5, 2), true, 'the first ten are no longer counted');
  assert.equal(rate.exceeds(0.5, 3), false);
  rate.add(30_000, false);
  assert.equal(rate.exceeds(0.5, 1), false, 'all earlier ones are forgotten');
  rate.clear();
  rate.add(30_001, true);
  assert.equal(rate.exceeds(1, 1), true);
});
