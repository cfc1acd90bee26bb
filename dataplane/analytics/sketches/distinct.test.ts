import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { someHashes } from '../testing/hashes.ts';
import { Distinct, SINCE_START } from './distinct.ts';

const EXACT = SINCE_START.exact;

const filled = (hashes: readonly number[]): Distinct => {
  const distinct = new Distinct(SINCE_START);
  for (const hash of hashes) distinct.add(hash);
  return distinct;
};

describe('distinct values', () => {
  it('are counted exactly up to 2,048, however often each occurs', () => {
    const hashes = someHashes(1, EXACT);
    for (const size of [0, 1, 8, 9, 1_000, EXACT]) assert.equal(filled([...hashes.slice(0, size), ...hashes.slice(0, size)]).count, size);
  });

  it('are estimated beyond that, within 2 %', () => {
    const hashes = someHashes(2, 200_000);
    for (const size of [EXACT + 1, 3_000, 10_000, 65_536, 200_000]) {
      const { count } = filled(hashes.slice(0, size));
      assert.ok(Math.abs(count / size - 1) < 0.02, `${count} for ${size}`);
    }
  });

  it('never decrease when the count switches to an estimate', () => {
    const hashes = someHashes(3, EXACT + 200);
    const distinct = filled(hashes.slice(0, EXACT));
    for (const hash of hashes.slice(EXACT)) distinct.add(hash);
    assert.ok(distinct.count > EXACT, `${distinct.count}`);
  });

  for (const [name, first, second] of [
    ['two exact counts', 1_000, 800],
    ['two exact counts whose sum is too large', 1_500, 1_500],
    ['an exact count into an estimate', 5_000, 100],
    ['an estimate into an exact count', 100, 5_000],
    ['two estimates', 5_000, 6_000],
  ] as const)
    it(`merge as if they were one stream: ${name}`, () => {
      const hashes = someHashes(4, first + second);
      const one = filled(hashes.slice(0, first));
      // A tenth of the second stream is also in the first.
      one.merge(filled([...hashes.slice(first), ...hashes.slice(0, second / 10)]));
      assert.equal(one.count, filled(hashes).count);
    });

  it('distinguish the hash 0 from a free slot', () => {
    assert.equal(filled([0, 5]).count, 2);
  });

  for (const size of [0, 1, 100, 256, 257, 5_000])
    it(`are the same after they were written and read: ${size} of them`, () => {
      const bounds = { exact: 256, precision: 12 };
      const hashes = someHashes(5, size + 300);
      const distinct = new Distinct(bounds);
      for (const hash of hashes.slice(0, size)) distinct.add(hash);
      const read = Distinct.read(bounds, distinct.write());
      assert.equal(read.count, distinct.count);
      for (const hash of hashes) {
        read.add(hash);
        distinct.add(hash);
      }
      assert.equal(read.count, distinct.count);
    });

  it('are not read from bytes that are damaged', () => {
    const bounds = { exact: 16, precision: 12 };
    const distinct = new Distinct(bounds);
    for (const hash of someHashes(6, 1_000)) distinct.add(hash);
    const bytes = distinct.write();
    for (const damaged of [bytes.subarray(0, 50), bytes.with(1, 11), Buffer.of(0, 1, 2)])
      assert.throws(() => Distinct.read(bounds, Buffer.from(damaged)), RangeError);
  });
});
