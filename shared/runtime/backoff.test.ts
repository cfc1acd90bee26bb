import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBackoff } from './backoff.ts';
import { systemRandom } from './random.ts';

const withFraction = (fraction: number) => ({ ...systemRandom, fraction: () => fraction });

test('delays double from 100 ms up to 5 s', () => {
  const backoff = createBackoff(withFraction(0));
  assert.deepEqual(
    Array.from({ length: 8 }, () => backoff.next()),
    [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000],
  );
});

test('a success resets the delay', () => {
  const backoff = createBackoff(withFraction(0));
  backoff.next();
  backoff.next();
  backoff.reset();
  assert.equal(backoff.next(), 100);
});

test('jitter shortens a delay by up to half', () => {
  assert.equal(createBackoff(withFraction(0.999)).next(), 50);
});
