import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SlidingCount } from './sliding-count.ts';

const SECOND = 1_000;

describe('a sliding count', () => {
  it('keeps a count for the whole window and not a tick longer', () => {
    const minute = new SlidingCount(60, SECOND);
    minute.add(3, 0);
    assert.equal(minute.total(59_999), 3);
    assert.equal(minute.total(60_000), 0);
  });

  it('drops counts slot by slot, in the order they were added', () => {
    const minute = new SlidingCount(60, SECOND);
    for (let second = 0; second < 60; second++) minute.add(1, second * SECOND);
    assert.equal(minute.total(59_000), 60);
    for (let second = 60; second < 120; second++) assert.equal(minute.total(second * SECOND), 119 - second);
  });

  it('is empty after a pause longer than the window, and then counts again', () => {
    const minute = new SlidingCount(60, SECOND);
    minute.add(5, 10_000);
    assert.equal(minute.total(10_000_000), 0);
    minute.add(2, 10_000_500);
    assert.equal(minute.total(10_001_000), 2);
  });

  it('equals a plain recount at random times', () => {
    const window = new SlidingCount(60, SECOND);
    const seen: [at: number, count: number][] = [];
    let now = 0;
    for (let step = 1; step <= 3_000; step++) {
      now += (step * 7_919) % 2_500;
      window.add(step % 5, now);
      seen.push([now, step % 5]);
      const first = Math.floor(now / SECOND) - 59;
      const expected = seen.filter(([at]) => Math.floor(at / SECOND) >= first).reduce((sum, [, count]) => sum + count, 0);
      assert.equal(window.total(now), expected, `step ${step}`);
    }
  });

  it('does not change when it is read for a past time', () => {
    const minute = new SlidingCount(60, SECOND);
    minute.add(1, 100_000);
    minute.add(1, 99_000);
    assert.equal(minute.total(98_000), 2);
  });

  it('merges slot by slot, so that merged counts expire at their own time', () => {
    const one = new SlidingCount(60, SECOND);
    const other = new SlidingCount(60, SECOND);
    one.add(1, 0);
    other.add(10, 30_000);
    one.merge(other, 40_000);
    assert.deepEqual([one.total(40_000), one.total(60_000), one.total(89_999), one.total(90_000)], [11, 10, 10, 0]);
  });
});
