import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { History } from '../../../../../shared/wire/history.ts';
import { parseRange } from '../../../../analytics/history/range.ts';
import { comparability, DAY, HOUR, PERIODS, periodOf, periodQuery } from './period.ts';

const NOW = Date.parse('2026-11-23T10:20:30Z');
const own = (from: string, to: string) => new Map(Object.entries({ range: 'own', from, to }));

test('the Admin API takes every period as it is', () => {
  const questions = [
    ...PERIODS.map((range) => new Map([['range', range]])),
    own('2026-11-01', '2026-11-02'),
    own('2025-11-01', '2026-11-02'),
  ];
  for (const question of questions) {
    const { from, to, step } = periodOf(question, NOW);
    const asked = parseRange(new Map(new URLSearchParams(periodQuery({ name: 'own', from, to, step }))), NOW);
    assert.deepEqual(asked.ok && asked.value, { from, to, step: step === 'hour' ? HOUR : DAY });
  }
});

test('a period contains the current hour or day', () => {
  assert.deepEqual(periodOf(new Map([['range', 'day']]), NOW), {
    name: 'day',
    from: Date.parse('2026-11-22T11:00:00Z'),
    to: Date.parse('2026-11-23T11:00:00Z'),
    step: 'hour',
  });
  assert.equal(periodOf(new Map([['range', 'week']]), NOW).to, Date.parse('2026-11-24'));
});

test('an own period includes its last day; without sense it is the last 24 hours', () => {
  assert.equal(periodOf(own('2026-11-01', '2026-11-02'), NOW).to, Date.parse('2026-11-03'));
  for (const wrong of [own('2026-11-02', '2026-11-01'), own('2026-13-01', '2026-11-01'), own('x', 'y'), new Map([['range', 'own']])])
    assert.equal(periodOf(wrong, NOW).name, 'day');
});

test('a period is compared with the one before only if that is known from its first moment', () => {
  const before = (views: number) => ({ from: '2026-11-22T00:00:00.000Z', totals: { views } }) as History['previous'];
  const of = (kept_since: string | null, views = 7) => comparability({ kept_since, previous: before(views) });
  assert.equal(of('2026-11-22T00:00:00.000Z'), 'whole');
  assert.equal(of('2026-11-22T01:00:00.000Z'), 'partly');
  assert.equal(of(null), 'partly');
  assert.equal(of('2026-11-01T00:00:00.000Z', 0), 'empty');
});
