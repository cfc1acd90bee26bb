import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { History } from '../../../../../shared/wire/history.ts';
import { parseRange } from '../../../../analytics/history/range.ts';
import { comparability, DAY, HOUR, PERIODS, periodOf, periodQuery, pointsBefore, unknownPoints } from './period.ts';

const NOW = Date.parse('2026-11-23T10:20:30Z');
const own = (from: string, to: string) => new Map(Object.entries({ range: 'own', from, to }));

test('the Admin API accepts every period unchanged', () => {
  const questions = [
    ...PERIODS.map((range) => new Map([['range', range]])),
    own('2026-11-01', '2026-11-02'),
    own('2025-11-01', '2026-11-02'),
    own('2024-02-07', '2026-11-02'),
    own('1970-01-01', '1970-01-01'),
    own('2999-12-31', '2999-12-31'),
  ];
  for (const question of questions) {
    const { from, to, step, previous } = periodOf(question, NOW);
    const asked = parseRange(new Map(new URLSearchParams(periodQuery({ name: 'own', from, to, step, previous }))), NOW);
    const short = to - from <= 3 * DAY;
    const expected = step === null ? { step: short ? HOUR : DAY, ...(short && { orDays: true }) } : { step: step === 'hour' ? HOUR : DAY };
    assert.deepEqual(asked.ok && asked.value, { from, to, ...expected, previous });
  }
});

test('a period contains the current hour or day', () => {
  assert.deepEqual(periodOf(new Map([['range', 'day']]), NOW), {
    name: 'day',
    from: Date.parse('2026-11-22T11:00:00Z'),
    to: Date.parse('2026-11-23T11:00:00Z'),
    step: 'hour',
    previous: { from: Date.parse('2026-11-21T11:00:00Z'), to: Date.parse('2026-11-22T11:00:00Z') },
  });
  assert.equal(periodOf(new Map([['range', 'week']]), NOW).to, Date.parse('2026-11-24'));
});

test('an own period includes its last day; without sense it is the last 24 hours', () => {
  assert.equal(periodOf(own('2026-11-01', '2026-11-02'), NOW).to, Date.parse('2026-11-03'));
  // Longer than the Admin API answers, and days whose times it does not read.
  const beyond = [
    own('2024-02-06', '2026-11-02'),
    own('2020-01-01', '2026-11-02'),
    own('9999-12-31', '9999-12-31'),
    own('0000-01-01', '0000-01-02'),
  ];
  for (const wrong of [
    own('2026-11-02', '2026-11-01'),
    own('2026-13-01', '2026-11-01'),
    own('x', 'y'),
    new Map([['range', 'own']]),
    ...beyond,
  ])
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

test('points before the first moment that is kept are unknown, but for the one from which the graph rises', () => {
  const series = Array.from({ length: 5 }, (_, at) => ({ at: new Date(Date.UTC(2026, 10, 20 + at)).toISOString() }));
  const unknown = (kept_since: string | null): number => unknownPoints({ kept_since, step: 'day', series });
  assert.equal(unknown(null), 0);
  assert.equal(unknown('2026-11-01T00:00:00.000Z'), 0);
  assert.equal(unknown('2026-11-21T05:00:00.000Z'), 0);
  assert.equal(unknown('2026-11-23T00:00:00.000Z'), 2);
  assert.equal(unknown('2026-11-25T00:00:00.000Z'), 5);
});

/** Runs with another time zone, like that of a browser. */
function inZone(zone: string, run: () => void): void {
  const { TZ } = process.env;
  process.env.TZ = zone;
  try {
    run();
  } finally {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  }
}

const previousOf = (query: ReadonlyMap<string, string>, now: string) => {
  const { from, to } = periodOf(query, Date.parse(now)).previous;
  return [new Date(from).toISOString().slice(0, 16), new Date(to).toISOString().slice(0, 16)];
};

test('today is compared with the same hours of yesterday, also when clocks change', () => {
  const today = (now: string) => previousOf(new Map([['range', 'today']]), now);
  inZone('UTC', () => assert.deepEqual(today('2026-11-23T10:20:30Z'), ['2026-11-22T00:00', '2026-11-22T11:00']));
  inZone('Europe/Berlin', () => {
    // 29 March 2026 has 23 hours, 25 October 25.
    assert.deepEqual(today('2026-03-29T10:20:00+02:00'), ['2026-03-27T23:00', '2026-03-28T10:00']);
    assert.deepEqual(today('2026-03-30T10:20:00+02:00'), ['2026-03-28T23:00', '2026-03-29T09:00']);
    assert.deepEqual(today('2026-10-25T10:20:00+01:00'), ['2026-10-23T22:00', '2026-10-24T09:00']);
    assert.deepEqual(today('2026-10-26T10:20:00+01:00'), ['2026-10-24T22:00', '2026-10-25T10:00']);
    assert.deepEqual(today('2026-11-23T00:00:00+01:00'), ['2026-11-21T23:00', '2026-11-22T00:00']);
  });
});

test('a period that is not over is compared with as much of the one before', () => {
  const of = (range: string) => previousOf(new Map([['range', range]]), '2026-11-23T10:20:30Z');
  assert.deepEqual(of('week'), ['2026-11-10T00:00', '2026-11-16T11:00']);
  assert.deepEqual(of('month'), ['2026-09-25T00:00', '2026-10-24T11:00']);
  assert.deepEqual(of('day'), ['2026-11-21T11:00', '2026-11-22T11:00']);
  assert.deepEqual(previousOf(own('2026-11-22', '2026-11-23'), '2026-11-23T10:20:30Z'), ['2026-11-20T00:00', '2026-11-21T11:00']);
  assert.deepEqual(previousOf(own('2026-11-01', '2026-11-02'), '2026-11-23T10:20:30Z'), ['2026-10-30T00:00', '2026-11-01T00:00']);
  assert.deepEqual(previousOf(own('2027-01-02', '2027-01-02'), '2026-11-23T10:20:30Z'), ['2027-01-01T00:00', '2027-01-02T00:00']);
});

test('the graph compares each hour of today with the same hour of the clock yesterday', () => {
  const hours = (from: string, count: number) =>
    Array.from({ length: count }, (_, hour) => ({ at: new Date(Date.parse(from) + hour * HOUR).toISOString() }));
  const compared = (from: string, count: number, before: string, countBefore: number) =>
    pointsBefore({ from, step: 'hour', series: hours(from, count), previous: { from: before, series: hours(before, countBefore) } }).map(
      (point) => point?.at.slice(11, 13),
    );
  inZone('Europe/Berlin', () => {
    // The clock shows 00, 01, 03, 04; an hour of the day before has no counterpart.
    assert.deepEqual(compared('2026-03-28T23:00:00Z', 4, '2026-03-27T23:00:00Z', 5), ['23', '00', '02', '03']);
    // It shows 00, 01, 02, 02, 03.
    assert.deepEqual(compared('2026-10-24T22:00:00Z', 5, '2026-10-23T22:00:00Z', 4), ['22', '23', '00', '00', '01']);
    assert.deepEqual(compared('2026-11-22T10:00:00Z', 2, '2026-11-22T08:00:00Z', 2), ['08', '09']);
  });
});
