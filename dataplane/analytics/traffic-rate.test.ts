import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { TrafficRate } from './traffic-rate.ts';

const report = (requests: number, bytes: number, errors: number) => ({
  domains: [{ requests, bytes, classes: [0, requests - errors, 0, 0, errors, 0] as const }],
});

test('the rates are those of the last ten seconds', () => {
  const clock = new ManualClock();
  const rate = new TrafficRate(clock);
  for (let second = 0; second < 10; second++) {
    if (second > 0) clock.pass(1_000);
    rate.record(report(50, 1_000, 5));
  }
  assert.deepEqual(rate.read(), { requests_per_sec: 50, bytes_per_sec: 1_000, errors_per_sec: 5 });
  clock.pass(5_000);
  assert.equal(rate.read().requests_per_sec, 25);
  clock.pass(10_000);
  assert.deepEqual(rate.read(), { requests_per_sec: 0, bytes_per_sec: 0, errors_per_sec: 0 });
});

test('the use of the cache is that of the last hour', () => {
  const clock = new ManualClock();
  const rate = new TrafficRate(clock);
  const [domain] = report(10, 0, 0).domains;
  assert.ok(domain);
  const cache = [
    ['hit', 3],
    ['stale', 1],
    ['revalidated', 1],
    ['miss', 2],
    ['collapsed', 2],
    ['pass', 1],
  ] as const;
  rate.record({ domains: [{ ...domain, cache }, domain] });
  assert.deepEqual(rate.cacheUse(), { requests_60m: 10, hits_60m: 5 });
  clock.pass(30 * 60_000);
  rate.record({ domains: [{ ...domain, cache: [['miss', 5]] }] });
  assert.deepEqual(rate.cacheUse(), { requests_60m: 15, hits_60m: 5 });
  clock.pass(30 * 60_000);
  assert.deepEqual(rate.cacheUse(), { requests_60m: 5, hits_60m: 0 });
});
