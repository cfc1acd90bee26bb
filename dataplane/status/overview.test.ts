import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import type { Problem } from '../../shared/wire/apply.ts';
import { alertsNow, type OverviewParts, overviewOf } from './overview.ts';
import { NO_WARNINGS } from './testing/no-warnings.ts';

const CONNECTED = { controllers: [], last_reload: null };

const problem = (n: number): Problem => ({
  ...{ source: 'docker', origin: `container c${n}`, domain: null, message: 'no', since: '2026-01-01T00:00:00.000Z' },
  code: n % 2 === 0 ? 'unknown_label' : 'bad_label',
});

function parts(problems: Problem[]): OverviewParts {
  const summary = { count: 3, healthy: 2, out: [] };
  const status = { instance: 'i', version: '1', ready: true, reason: null, uptime_secs: 7, generation: 1, routes: 2, overridden: 0 };
  const troubles = [
    { kind: 'certificate_missing', domain: 'a.test', message: 'a.test has no certificate' },
    null,
    { kind: 'certificate_expiring', domain: 'b.test', message: 'it ends' },
  ] as const;
  const host = { domain: 'a.test', page_views_1m: 1, page_views_60m: 2, unique_visitors: 1, requests: 3, errors: 0 };
  return {
    clock: new ManualClock(),
    status: () => ({ ...status, workers: { configured: 1, serving: 1, restarts: 0 }, problems }),
    warnings: () => ({ ...NO_WARNINGS, settings: ['it is not in effect'] }),
    advice: () => ['set this'],
    upstreams: async () => ({ summary, pools: [] }),
    failing: () => [],
    certificates: { served: 9, troubles: () => troubles },
    overrides: () => [null],
    refused: () => [],
    history: () => null,
    since: ({ since }) => since,
    traffic: () => ({ requests_per_sec: 5, bytes_per_sec: 6, errors_per_sec: 0, open_requests: 1 }),
    cache: () => null,
    hosts: async (limit) => ({ hosts: [host], count: limit + 1 }),
  };
}

test('an overview has the worst alerts in place of the lists of the status, and counts what it leaves out', async () => {
  const overview = await overviewOf(parts(Array.from({ length: 1_000 }, (_, n) => problem(n))), CONNECTED);
  assert.deepEqual([overview.alerts.length, overview.alert_count], [200, 1_004]);
  assert.ok(overview.alerts.every(({ severity }) => severity === 'error'));
  assert.deepEqual([overview.status.problems, overview.status.warnings, overview.status.advice], [[], [], []]);
  assert.deepEqual([overview.hosts.length, overview.host_count], [1, 101]);
  assert.deepEqual(overview.upstreams, { count: 3, healthy: 2 });
  assert.deepEqual(overview.certificates, { count: 9, failed: 1, expiring: 1 });
  assert.equal(overview.at, '2023-11-14T22:13:20.000Z');
});

test('the 1,000 worst alerts are listed, worst first, and the last one says how many are left out', async () => {
  const problems = (length: number) => parts(Array.from({ length }, (_, n) => problem(n)));
  assert.equal((await alertsNow(problems(996), CONNECTED)).length, 1_000);
  const alerts = await alertsNow(problems(20_000), CONNECTED);
  const severities = alerts.map(({ severity }) => severity);
  assert.equal(alerts.length, 1_001);
  assert.deepEqual([alerts.at(-1)?.code, alerts.at(-1)?.message], ['alerts_omitted', '19004 more alerts are not listed']);
  assert.deepEqual(
    severities,
    severities.toSorted((a, b) => ['error', 'warning', 'advice'].indexOf(a) - ['error', 'warning', 'advice'].indexOf(b)),
  );
});

test('what controllers report never makes an overview as large as their reports', async () => {
  const long = Array.from({ length: 1_000 }, () => ({ ...problem(1), origin: '源'.repeat(1_024), message: '错'.repeat(8_192) }));
  const failed = { at: '', ok: false, errors: Array.from({ length: 1_000 }, () => 'x'.repeat(8_192)) };
  const overview = await overviewOf(parts(long), { ...CONNECTED, last_reload: failed });
  // A reader that leaves 1 MB unread is cut off.
  assert.ok(Buffer.byteLength(JSON.stringify(overview)) < 1_000_000);
});
