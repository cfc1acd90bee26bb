import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { someHashes } from '../testing/hashes.ts';
import { MAX_PENDING, QuantileDigest } from './quantile-digest.ts';

const QUANTILES = [0.5, 0.75, 0.95, 0.99];

/** Values spread over three decades, as loading times are. */
const values = (seed: number, count: number): number[] => someHashes(seed, count).map((hash) => 10 ** (1 + (3 * hash) / 2 ** 53));

const filled = (observations: readonly number[]): QuantileDigest => {
  const digest = new QuantileDigest(QUANTILES);
  for (const value of observations) digest.add(value);
  return digest;
};

function assertClose(digest: QuantileDigest, observations: readonly number[]): void {
  const sorted = observations.toSorted((a, b) => a - b);
  for (const [at, quantile] of QUANTILES.entries()) {
    const exact = sorted[Math.floor(quantile * sorted.length)] as number;
    const error = Math.abs((digest.read()[at] as number) / exact - 1);
    assert.ok(error < 0.05, `p${quantile * 100}: ${error}`);
  }
}

describe('a quantile digest', () => {
  it('returns 0 while it has no observations', () => {
    assert.deepEqual(filled([]).read(), [0, 0, 0, 0]);
  });

  it('returns values as of the last flush, which the hundredth observation triggers', () => {
    const digest = filled(new Array(MAX_PENDING - 1).fill(7));
    assert.deepEqual([digest.read(), digest.dirty], [[0, 0, 0, 0], true]);
    digest.add(7);
    assert.deepEqual([digest.read(), digest.dirty], [[7, 7, 7, 7], false]);
  });

  it('includes fewer pending observations after an explicit flush', () => {
    const digest = filled([3]);
    digest.flush();
    assert.deepEqual(digest.read(), [3, 3, 3, 3]);
  });

  it('is within 5 % of the exact quantiles of 20,000 observations', () => {
    const observations = values(1, 20_000);
    assertClose(filled(observations), observations);
  });

  for (const [name, zeros, others] of [
    ['few', 80, 20],
    ['many', 16_000, 4_000],
  ] as const)
    it(`is exact where most observations are equal, of ${name}`, () => {
      const shifts = [...new Array<number>(zeros).fill(0), ...values(5, others).map((value) => value / 10_000)];
      const digest = filled(shifts);
      const [p50, p75, p95] = digest.read();
      assert.deepEqual([p50, p75], [0, 0]);
      const exact = shifts.toSorted((a, b) => a - b)[Math.floor(0.95 * shifts.length)] as number;
      assert.ok(Math.abs((p95 as number) / exact - 1) < 0.2, `${p95} for ${exact}`);
    });

  it('digests what it merges by the hundred, like single observations', () => {
    const digest = filled([]);
    for (let nth = 1; nth < MAX_PENDING; nth++) digest.merge(filled([7]));
    assert.deepEqual([digest.read(), digest.dirty], [[0, 0, 0, 0], true]);
    const [flushed, full] = [filled([7]), filled(new Array(MAX_PENDING).fill(9))];
    flushed.flush();
    digest.merge(flushed);
    assert.deepEqual([digest.read(), digest.dirty], [[7, 7, 7, 7], false]);
    digest.merge(full);
    assert.deepEqual([digest.read()[3], digest.dirty], [9, false]);
  });

  it('merges as if it had seen both streams', () => {
    const [one, other] = [values(2, 4_000), values(3, 6_050).map((value) => value * 3)];
    const digest = filled(one);
    digest.merge(filled(other));
    assertClose(digest, [...one, ...other]);
  });
});
