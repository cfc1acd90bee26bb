import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashes, someHashes } from '../testing/hashes.ts';
import { HyperLogLog } from './hyperloglog.ts';

const filled = (precision: number, hashes: readonly number[]): HyperLogLog => {
  const sketch = new HyperLogLog(precision);
  for (const hash of hashes) sketch.add(hash);
  return sketch;
};

/** What is estimated once so many values, in ascending order, have been added. */
function estimatesAt(sizes: readonly number[], precision: number, values: Generator<number, never>): number[] {
  const sketch = new HyperLogLog(precision);
  let added = 0;
  return sizes.map((size) => {
    for (; added < size; added++) sketch.add(values.next().value);
    return sketch.estimate();
  });
}

describe('HyperLogLog', () => {
  it('estimates 0 for no values and 1 for one', () => {
    assert.equal(new HyperLogLog(16).estimate(), 0);
    assert.equal(Math.round(filled(16, [123_456_789]).estimate()), 1);
  });

  it('estimates the same regardless of order and repetition', () => {
    const hashes = someHashes(1, 20_000);
    assert.equal(filled(12, [...hashes, ...hashes.toReversed()]).estimate(), filled(12, hashes).estimate());
  });

  it('merges as if one sketch had seen both streams', () => {
    const hashes = someHashes(2, 50_000);
    const one = filled(12, hashes.slice(0, 30_000));
    one.merge(filled(12, hashes.slice(20_000)));
    assert.equal(one.estimate(), filled(12, hashes).estimate());
  });

  it('has no biased range: the mean error stays within three standard errors from 1/8 to 64 values a register', () => {
    const [precision, runs] = [10, 60];
    const standardError = 1.04 / Math.sqrt(2 ** precision);
    const sizes = [128, 512, 1_024, 2_560, 5_120, 16_384, 65_536];
    const estimates = Array.from({ length: runs }, (_, run) => estimatesAt(sizes, precision, hashes(run + 7)));
    for (const [at, size] of sizes.entries()) {
      const errors = estimates.map((ofRun) => (ofRun[at] as number) / size - 1);
      const mean = errors.reduce((sum, error) => sum + error, 0) / runs;
      const deviation = Math.sqrt(errors.reduce((sum, error) => sum + error ** 2, 0) / runs);
      assert.ok(Math.abs(mean) < (3 * standardError) / Math.sqrt(runs), `${size}: mean error ${mean}`);
      assert.ok(deviation < 1.4 * standardError, `${size}: standard error ${deviation}`);
    }
  });

  it('keeps registers that are far above the lowest one, even when the lowest one rises', () => {
    // Register 3 has the highest value there is; then all registers rise one by one past the distance of four bits.
    const sketch = filled(4, [3]);
    const reference = new Array<number>(16).fill(0);
    reference[3] = 50;
    for (let value = 1; value <= 30; value++)
      for (let register = 0; register < 16; register++) {
        sketch.add(register + 2 ** (53 - value));
        reference[register] = Math.max(reference[register] as number, value);
      }
    const again = new HyperLogLog(4);
    for (const [register, value] of reference.entries()) again.add(value === 50 ? register : register + 2 ** (53 - value));
    assert.equal(sketch.estimate(), again.estimate());
    assert.ok(Number.isFinite(sketch.estimate()));
  });
});
