import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PERIOD_MS } from '../../shared/values/rate.ts';
import { attackKeys, countForAttack, isAttacked } from './attacks.ts';
import { Rates } from './rates.ts';

const SECOND = 1_000;
const START = 1_700_000_000_000;
const THRESHOLD = 5;

test('a site is under attack for a minute after the last second over the threshold, however long the attack lasted', () => {
  const rates = (period: keyof typeof PERIOD_MS): Rates => new Rates(Rates.buffer(), PERIOD_MS[period]);
  const all = { second: rates('second'), minute: rates('minute'), hour: rates('hour') };
  const keys = attackKeys('a.test');
  const visit = (count: number, now: number): void => {
    for (let nth = 0; nth < count; nth++) countForAttack(all, keys, THRESHOLD, now);
  };
  for (const lasts of [1, 20, 90]) {
    const begin = START + lasts * 3_600 * SECOND + 50 * SECOND;
    const end = begin + lasts * SECOND;
    visit(THRESHOLD, begin - 10 * SECOND);
    assert.equal(isAttacked(all, keys, begin), false);
    for (let now = begin; now <= end; now += SECOND) visit(3 * THRESHOLD, now);
    assert.equal(isAttacked(all, keys, end + 59 * SECOND), true, `after ${lasts} s`);
    assert.equal(isAttacked(all, keys, end + 68 * SECOND), false, `after ${lasts} s`);
  }
});
