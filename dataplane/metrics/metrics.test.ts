import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { MAX_DOMAIN_LABELS } from '../../shared/domain-labels.ts';
import { type Clock, systemClock } from '../../shared/runtime/clock.ts';
import { DURATION_BOUNDS } from '../traffic/protocol.ts';
import { domainReport } from '../traffic/testing/samples/domain-report.ts';
import { MAX_CONTROLLERS, MAX_PROBLEM_KINDS } from './controllers.ts';
import type { MetricsSnapshot } from './gauges.ts';
import { createMetrics } from './metrics.ts';
import { MAX_UPSTREAMS } from './targets.ts';

const NOTHING: MetricsSnapshot = {
  ...{
    ready: false,
    routes: 0,
    overridden: 0,
    inFlight: 0,
    accessLogLost: 0,
    spansLost: 0,
    historyAvailable: null,
    cache: null,
    cacheDisk: null,
    controllers: [],
    problems: [],
  },
  workers: { serving: 0, configured: 0, busySeconds: [] },
  connections: { open: 0, most: 0, refused: [] },
  targets: { addresses: [], routes: [] },
  certificates: { served: [], orders: [], failing: { missing: 0, renewal: 0 }, expiring: 0 },
};
const targetAt = (address: string, healthy: boolean, more = {}) => ({ address, healthy, inFlight: 0, failures: 0, ...more });
const clock: Clock = { ...systemClock, now: () => 1_700_000_000_500 };
const metricsOf = (read: () => MetricsSnapshot = () => NOTHING) => createMetrics({ clock, version: '1.2.3', read });

/** Values by series: `name{labels}`. */
async function scrape(metrics: ReturnType<typeof metricsOf>): Promise<Map<string, number>> {
  const lines = (await metrics.text(() => true)).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]));
}
const own = (lines: Map<string, number>, family: string) =>
  Object.fromEntries([...lines].filter(([head]) => head.split('{')[0] === family));

describe('traffic', () => {
  it('adds up requests and bytes of all workers by route and status class', async () => {
    const metrics = metricsOf();
    metrics.record({
      domains: [domainReport('a.example', { classes: [1, 2, 0, 3, 4, 5], bytes: 7 }), domainReport('*.b.example', { host: 'x.b.example' })],
    });
    metrics.record({ domains: [domainReport('a.example'), domainReport('*.b.example', { host: 'y.b.example' })] });
    const lines = await scrape(metrics);
    assert.deepEqual(own(lines, 'sluice_requests_total'), {
      'sluice_requests_total{domain="a.example",status="1xx"}': 1,
      'sluice_requests_total{domain="a.example",status="2xx"}': 3,
      'sluice_requests_total{domain="a.example",status="4xx"}': 3,
      'sluice_requests_total{domain="a.example",status="5xx"}': 4,
      'sluice_requests_total{domain="a.example",status="other"}': 5,
      'sluice_requests_total{domain="*.b.example",status="2xx"}': 2,
    });
    assert.deepEqual(own(lines, 'sluice_response_bytes_total'), {
      'sluice_response_bytes_total{domain="a.example"}': 107,
      'sluice_response_bytes_total{domain="*.b.example"}': 200,
    });
  });

  it('is not counted twice by a concurrent second scrape', async () => {
    const metrics = metricsOf();
    metrics.record({ domains: [domainReport('a.example'), domainReport('', { host: '' })] });
    const [one, other] = await Promise.all([scrape(metrics), scrape(metrics)]);
    for (const lines of [one, other, await scrape(metrics)]) {
      assert.equal(lines.get('sluice_requests_total{domain="a.example",status="2xx"}'), 1);
      assert.equal(lines.get('sluice_unrouted_requests_total{status="2xx"}'), 1);
    }
  });

  it('counts upstream failures by route and reason, with no line for reasons that never occurred', async () => {
    const metrics = metricsOf();
    assert.deepEqual(own(await scrape(metrics), 'sluice_upstream_failures_total'), {});
    metrics.record({
      domains: [
        domainReport('a.example', {
          failures: [
            ['refused', 2],
            ['no_target', 1],
          ],
        }),
      ],
    });
    metrics.record({ domains: [domainReport('a.example', { failures: [['refused', 3]] }), domainReport('b.example')] });
    assert.deepEqual(own(await scrape(metrics), 'sluice_upstream_failures_total'), {
      'sluice_upstream_failures_total{domain="a.example",reason="refused"}': 5,
      'sluice_upstream_failures_total{domain="a.example",reason="no_target"}': 1,
    });
  });

  it('turns the counts into cumulative buckets with sum and count', async () => {
    const metrics = metricsOf();
    const durations = DURATION_BOUNDS.map((_, at) => at).concat(100);
    metrics.record({ domains: [domainReport('a.example', { durations, durationSum: 3.5 })] });
    metrics.record({ domains: [domainReport('a.example', { durations, durationSum: 3.5 })] });
    const lines = await scrape(metrics);
    let expected = 0;
    for (const [at, bound] of DURATION_BOUNDS.entries()) {
      expected += 2 * at;
      assert.equal(lines.get(`sluice_request_duration_seconds_bucket{le="${bound}",domain="a.example"}`), expected, `le ${bound}`);
    }
    expected += 200;
    assert.equal(lines.get('sluice_request_duration_seconds_bucket{le="+Inf",domain="a.example"}'), expected);
    assert.equal(lines.get('sluice_request_duration_seconds_count{domain="a.example"}'), expected);
    assert.equal(lines.get('sluice_request_duration_seconds_sum{domain="a.example"}'), 7);
    assert.match(await metrics.text(() => true), /^# TYPE sluice_request_duration_seconds histogram$/m);
  });

  it('counts unrouted requests in a separate family', async () => {
    const metrics = metricsOf();
    metrics.record({ domains: [domainReport('', { host: '', classes: [0, 0, 0, 9, 0, 0] })] });
    const lines = await scrape(metrics);
    assert.deepEqual(own(lines, 'sluice_unrouted_requests_total'), { 'sluice_unrouted_requests_total{status="4xx"}': 9 });
    assert.deepEqual(
      [...lines.keys()].filter((head) => head.includes('domain=')),
      [],
    );
  });

  it('has at most 1,000 domains, then other, without losing counts', async () => {
    const metrics = metricsOf();
    const patterns = Array.from({ length: MAX_DOMAIN_LABELS + 50 }, (_, at) => `d${at}.example`);
    for (let round = 0; round < 2; round++) metrics.record({ domains: patterns.map((pattern) => domainReport(pattern)) });
    const lines = own(await scrape(metrics), 'sluice_requests_total');
    assert.equal(Object.keys(lines).length, MAX_DOMAIN_LABELS + 1);
    assert.equal(lines['sluice_requests_total{domain="d999.example",status="2xx"}'], 2);
    assert.equal(lines['sluice_requests_total{domain="other",status="2xx"}'], 100);
  });
});

describe('values read at a scrape', () => {
  it('are current, and a removed target has no line', async () => {
    let reading: MetricsSnapshot = {
      ...NOTHING,
      ready: true,
      routes: 5,
      overridden: 1,
      workers: { serving: 2, configured: 3, busySeconds: [[0, 1.5]] },
      inFlight: 7,
      connections: { open: 9, most: 10, refused: [['limit', 3]] },
      targets: { addresses: [targetAt('10.0.0.1:80', true, { inFlight: 4, failures: 6 })], routes: [] },
    };
    const metrics = metricsOf(() => reading);
    const first = await scrape(metrics);
    const gauges = [
      ...['sluice_routes', 'sluice_routes_overridden', 'sluice_workers', 'sluice_requests_in_flight', 'sluice_connections_open'],
      ...['sluice_workers_configured', 'sluice_connections_max', 'sluice_ready'],
    ];
    assert.deepEqual(
      gauges.map((name) => first.get(name)),
      [5, 1, 2, 7, 9, 3, 10, 1],
    );
    assert.deepEqual(own(first, 'sluice_connections_refused_total'), { 'sluice_connections_refused_total{reason="limit"}': 3 });
    assert.deepEqual(own(first, 'sluice_worker_busy_seconds_total'), { 'sluice_worker_busy_seconds_total{worker="0"}': 1.5 });
    assert.deepEqual(
      ['healthy', 'requests_in_flight', 'attempt_failures_total'].map((name) =>
        first.get(`sluice_upstream_${name}{address="10.0.0.1:80"}`),
      ),
      [1, 4, 6],
    );
    reading = { ...NOTHING, targets: { addresses: [targetAt('10.0.0.2:80', false)], routes: [] } };
    const second = await scrape(metrics);
    assert.deepEqual(
      gauges.map((name) => second.get(name)),
      [0, 0, 0, 0, 0, 0, 0, 0],
    );
    assert.deepEqual(own(second, 'sluice_upstream_healthy'), { 'sluice_upstream_healthy{address="10.0.0.2:80"}': 0 });
  });

  it('include the share of the cache that each route has', async () => {
    const share = { bytes: 300, entries: 2, evicted: 5 };
    const cache = { size: 1_000, used: 400, entries: 3, evicted: 6, routes: [['a.example', share]] as const };
    const lines = await scrape(metricsOf(() => ({ ...NOTHING, cache })));
    const shown = ['bytes', 'max_bytes', 'entries', 'evictions_total'].map((name) => lines.get(`sluice_cache_${name}`));
    assert.deepEqual(shown, [400, 1_000, 3, 6]);
    const route = ['bytes', 'entries', 'evictions_total'].map((name) => lines.get(`sluice_cache_route_${name}{domain="a.example"}`));
    assert.deepEqual(route, [300, 2, 5]);
  });

  it('list at most 1,000 targets, those out of rotation before those in rotation', async () => {
    const addresses = Array.from({ length: 1_500 }, (_, at) => targetAt(`t:${at + 1}`, at % 3 !== 0));
    const metrics = metricsOf(() => ({ ...NOTHING, targets: { addresses, routes: [] } }));
    const lines = Object.values(own(await scrape(metrics), 'sluice_upstream_healthy'));
    assert.equal(lines.length, MAX_UPSTREAMS);
    assert.equal(lines.filter((value) => value === 0).length, 500);
  });

  it('list at most 1,000 routes with their targets, those with a pool that is down first, and the sum of the others', async () => {
    const routes = Array.from({ length: 1_100 }, (_, at) => ({
      domain: `d${at}.example`,
      inRotation: 2,
      out: 1,
      poolsDown: at === 1_099 ? 1 : 0,
    }));
    const lines = await scrape(metricsOf(() => ({ ...NOTHING, targets: { addresses: [], routes } })));
    const down = own(lines, 'sluice_route_pools_down');
    assert.equal(Object.keys(down).length, MAX_DOMAIN_LABELS + 1);
    assert.equal(down['sluice_route_pools_down{domain="d1099.example"}'], 1);
    const targets = own(lines, 'sluice_route_targets');
    assert.equal(targets['sluice_route_targets{domain="d1099.example",state="in_rotation"}'], 2);
    assert.equal(targets['sluice_route_targets{domain="other",state="in_rotation"}'], 200);
    assert.equal(targets['sluice_route_targets{domain="other",state="out"}'], 100);
  });

  it('include controllers that are connected or have routes, and their problems by source and kind', async () => {
    const controller = (id: string, connected: boolean, routes: number) => ({ id, connected, routes, lastApplied: 1_500 });
    const problem = (code: string) => ({ source: 'docker', code });
    const reading = {
      ...NOTHING,
      controllers: [controller('here', true, 0), controller('away', false, 3), controller('removed', false, 0)],
      problems: ['bad_label', 'bad_label', 'no_address'].map(problem),
    };
    const lines = await scrape(metricsOf(() => reading));
    assert.deepEqual(own(lines, 'sluice_apply_stream_connected'), {
      'sluice_apply_stream_connected{controller="here"}': 1,
      'sluice_apply_stream_connected{controller="away"}': 0,
    });
    assert.equal(lines.get('sluice_apply_stream_routes{controller="away"}'), 3);
    assert.equal(lines.get('sluice_apply_stream_last_frame_timestamp_seconds{controller="away"}'), 1.5);
    assert.deepEqual(own(lines, 'sluice_problems'), {
      'sluice_problems{source="docker",code="bad_label"}': 2,
      'sluice_problems{source="docker",code="no_address"}': 1,
    });
    const many = {
      ...NOTHING,
      controllers: Array.from({ length: 200 }, (_, at) => controller(`c${at}`, true, 1)),
      problems: Array.from({ length: 200 }, (_, at) => problem(`p${at}`)),
    };
    const bounded = await scrape(metricsOf(() => many));
    assert.equal(Object.keys(own(bounded, 'sluice_apply_stream_connected')).length, MAX_CONTROLLERS);
    assert.equal(Object.keys(own(bounded, 'sluice_problems')).length, MAX_PROBLEM_KINDS + 1);
    assert.equal(bounded.get('sluice_problems{source="other",code="other"}'), 200 - MAX_PROBLEM_KINDS);
  });

  it('include certificates by source, their expiry, and orders by result', async () => {
    const served = [
      { name: 'b.example', notAfter: 1_700_000_000_000, source: 'acme' },
      { name: 'a.example', notAfter: 1_600_000_000_000, source: 'file' },
    ];
    const orders = [
      ['issued', 3],
      ['validation', 1],
    ] as const;
    const lines = await scrape(
      metricsOf(() => ({ ...NOTHING, certificates: { served, orders, failing: { missing: 2, renewal: 1 }, expiring: 4 } })),
    );
    assert.deepEqual(own(lines, 'sluice_certificates'), {
      'sluice_certificates{source="acme"}': 1,
      'sluice_certificates{source="file"}': 1,
    });
    assert.deepEqual(own(lines, 'sluice_certificate_not_after_timestamp_seconds'), {
      'sluice_certificate_not_after_timestamp_seconds{domain="a.example"}': 1_600_000_000,
      'sluice_certificate_not_after_timestamp_seconds{domain="b.example"}': 1_700_000_000,
    });
    assert.equal(lines.get('sluice_certificates_expiring'), 4);
    assert.deepEqual(own(lines, 'sluice_certificates_failing'), {
      'sluice_certificates_failing{kind="missing"}': 2,
      'sluice_certificates_failing{kind="renewal"}': 1,
    });
    assert.deepEqual(own(lines, 'sluice_certificate_orders_total'), {
      'sluice_certificate_orders_total{result="issued"}': 3,
      'sluice_certificate_orders_total{result="validation"}': 1,
    });
  });

  it('list the 1,000 certificates that expire first, and the earliest of all others', async () => {
    const served = Array.from({ length: 1_100 }, (_, at) => ({ name: `d${at}.example`, notAfter: (2_000 - at) * 1_000, source: 'acme' }));
    const lines = own(
      await scrape(metricsOf(() => ({ ...NOTHING, certificates: { ...NOTHING.certificates, served } }))),
      'sluice_certificate_not_after_timestamp_seconds',
    );
    assert.equal(Object.keys(lines).length, MAX_DOMAIN_LABELS + 1);
    assert.equal(lines['sluice_certificate_not_after_timestamp_seconds{domain="other"}'], 2_000 - 99);
  });

  it('say whether the history is available, and say nothing if none is kept', async () => {
    const available = async (historyAvailable: boolean | null) =>
      (await scrape(metricsOf(() => ({ ...NOTHING, historyAvailable })))).get('sluice_history_available');
    assert.deepEqual([await available(null), await available(true), await available(false)], [undefined, 1, 0]);
  });

  it('fail only the scrape if they cannot be read', async () => {
    const metrics = metricsOf(() => {
      throw new Error('gone');
    });
    await assert.rejects(
      metrics.text(() => true),
      /gone/,
    );
  });
});

describe('events', () => {
  it('count worker restarts by reason, from zero', async () => {
    const metrics = metricsOf();
    const restarts = async () => Object.values(own(await scrape(metrics), 'sluice_worker_restarts_total'));
    assert.deepEqual(await restarts(), [0, 0]);
    metrics.countWorkerRestart('silent');
    metrics.countWorkerRestart('silent');
    metrics.countWorkerRestart('died');
    assert.deepEqual(await restarts(), [1, 2]);
  });

  it('count faults in workers by what they ended, from zero', async () => {
    const metrics = metricsOf();
    const faults = async () => own(await scrape(metrics), 'sluice_exchange_faults_total');
    const expected = (exchange: number, connection: number, nothing: number) => ({
      'sluice_exchange_faults_total{ended="exchange"}': exchange,
      'sluice_exchange_faults_total{ended="connection"}': connection,
      'sluice_exchange_faults_total{ended="nothing"}': nothing,
    });
    assert.deepEqual(await faults(), expected(0, 0, 0));
    metrics.record({ domains: [], faults: [['exchange', 2]] });
    metrics.record({
      domains: [],
      faults: [
        ['exchange', 1],
        ['nothing', 4],
      ],
    });
    assert.deepEqual(await faults(), expected(3, 0, 4));
  });

  it('report the result of the last reload, and nothing before the first', async () => {
    const metrics = metricsOf();
    const reload = async () => {
      const lines = await scrape(metrics);
      return ['sluice_config_last_reload_successful', 'sluice_config_last_reload_success_timestamp_seconds'].map((name) => lines.get(name));
    };
    assert.deepEqual(await reload(), [undefined, undefined]);
    metrics.reloadOutcome(false);
    assert.deepEqual(await reload(), [0, undefined]);
    metrics.reloadOutcome(true);
    assert.deepEqual(await reload(), [1, 1_700_000_000.5]);
    metrics.reloadOutcome(false);
    assert.deepEqual(await reload(), [0, 1_700_000_000.5]);
  });

  it('identify the build', async () => {
    assert.equal((await scrape(metricsOf())).get(`sluice_build_info{version="1.2.3",node="${process.version}"}`), 1);
  });
});

describe('docs/reference/metrics.md', () => {
  it('lists exactly the families that exist, with their types', async () => {
    const page = readFileSync(new URL('../../docs/reference/metrics.md', import.meta.url), 'utf8');
    const documented = new Map([...page.matchAll(/^\| `([a-z0-9_]+)` \| (\w+) \|/gm)].map((row) => [row[1] ?? '', row[2]]));
    const metrics = metricsOf();
    const served = new Map(
      [...(await metrics.text(() => true)).matchAll(/^# TYPE (\S+) (\S+)$/gm)].map((line) => [line[1] ?? '', line[2]]),
    );
    assert.deepEqual([...served.keys()], await metrics.families());
    const onlyOnLinux = process.platform === 'linux' ? [] : [...page.matchAll(/`([a-z_]+)`.*\(Linux\)/g)].map((row) => row[1] ?? '');
    for (const name of onlyOnLinux) documented.delete(name);
    assert.deepEqual(Object.fromEntries([...documented].toSorted()), Object.fromEntries([...served].toSorted()));
  });
});
