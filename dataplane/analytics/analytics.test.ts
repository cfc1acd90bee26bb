import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Clock, systemClock } from '../../shared/runtime/clock.ts';
import type { DomainReport } from '../traffic/protocol.ts';
import { domainReport } from '../traffic/testing/samples/domain-report.ts';
import { createAnalytics, MAX_HOSTS_PER_PATTERN } from './analytics.ts';
import { someHashes } from './testing/hashes.ts';

const START = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

/** A clock set by the test, in milliseconds since its start. */
function handClock(): Clock & { at: number } {
  const clock = { ...systemClock, at: 0, now: () => START + clock.at, monotonic: () => clock.at };
  return clock;
}

describe('analytics', () => {
  it('knows no domain before its first request', () => {
    const analytics = createAnalytics({ clock: handClock() });
    assert.deepEqual([...analytics.snapshots()], []);
    assert.equal(analytics.snapshot('a.example'), undefined);
  });

  it('lists the busiest hosts with the wildcard that serves them', async () => {
    const analytics = createAnalytics({ clock: handClock() });
    const domains = [domainReport('a.x.example', { requests: 2, pattern: '*.x.example' }), domainReport('b.example', { requests: 1 })];
    analytics.record({ domains });
    const { hosts } = await analytics.busiest(10);
    assert.deepEqual(
      hosts.map(({ domain, pattern }) => [domain, pattern]),
      [
        ['a.x.example', '*.x.example'],
        ['b.example', undefined],
      ],
    );
  });

  it('returns exactly the members of a snapshot', () => {
    const analytics = createAnalytics({ clock: handClock() });
    const report = { requests: 7, classes: [1, 2, 0, 3, 0, 1], bytes: 4_321, visitors: [11, 12] } as const;
    analytics.record({
      domains: [
        domainReport('a.example', {
          ...report,
          pages: [
            ['/x', 4],
            ['/', 3],
          ],
          referrers: [['b.example', 2]],
        }),
      ],
    });
    const none = { p50: 0, p75: 0, p95: 0, p99: 0 };
    assert.deepEqual(analytics.snapshot('a.example'), {
      domain: 'a.example',
      page_views_1m: 7,
      page_views_60m: 7,
      unique_visitors: 2,
      top_pages: [
        { path: '/x', views: 4 },
        { path: '/', views: 3 },
      ],
      referrers: [{ domain: 'b.example', count: 2 }],
      countries: [],
      status_codes: { s1xx: 1, s2xx: 2, s3xx: 0, s4xx: 3, s5xx: 0, other: 1 },
      bytes_sent: 4_321,
      web_vitals: { lcp: none, cls: none, inp: none },
      timestamp: '2026-01-02T03:04:05.678Z',
    });
  });

  it('adds up the reports of several workers', () => {
    const analytics = createAnalytics({ clock: handClock() });
    for (let worker = 0; worker < 3; worker++)
      analytics.record({ domains: [domainReport('a.example', { visitors: [1, worker + 10], pages: [['/', 1]] })] });
    const snapshot = analytics.snapshot('a.example');
    assert.deepEqual(
      [snapshot?.page_views_1m, snapshot?.unique_visitors, snapshot?.status_codes.s2xx, snapshot?.bytes_sent, snapshot?.top_pages],
      [3, 4, 3, 300, [{ path: '/', views: 3 }]],
    );
  });

  it('lists countries', () => {
    const analytics = createAnalytics({ clock: handClock() });
    for (const count of [2, 3])
      analytics.record({
        domains: [
          domainReport('a.example', {
            countries: [
              ['DE', count],
              ['FR', 1],
            ],
          }),
        ],
      });
    assert.deepEqual(analytics.snapshot('a.example')?.countries, [
      { country: 'DE', count: 5 },
      { country: 'FR', count: 2 },
    ]);
  });

  it('estimates visitors beyond 2,048, of all workers together', () => {
    const analytics = createAnalytics({ clock: handClock() });
    const visitors = someHashes(1, 30_000);
    for (const part of [visitors.slice(0, 20_000), visitors.slice(10_000)])
      analytics.record({ domains: [domainReport('a.example', { visitors: part })] });
    const count = analytics.snapshot('a.example')?.unique_visitors ?? 0;
    assert.ok(Math.abs(count / 30_000 - 1) < 0.02, `${count}`);
  });

  it('reads Web Vitals as of the last hundred observations or the last aggregation cycle', async () => {
    const analytics = createAnalytics({ clock: handClock() });
    const same = (value: number) => ({ p50: value, p75: value, p95: value, p99: value });
    const vitals = (count: number) => new Array(count).fill({ lcp: 1_200.5, cls: 0.05 });
    analytics.record({
      domains: [domainReport('a.example', { vitals: vitals(99) }), domainReport('b.example', { vitals: [{ inp: 80 }] })],
    });
    assert.deepEqual(analytics.snapshot('a.example')?.web_vitals, { lcp: same(0), cls: same(0), inp: same(0) });
    analytics.record({ domains: [domainReport('a.example', { vitals: vitals(1) })] });
    assert.deepEqual(analytics.snapshot('a.example')?.web_vitals, { lcp: same(1_200.5), cls: same(0.05), inp: same(0) });
    assert.deepEqual(analytics.snapshot('b.example')?.web_vitals.inp, same(0));
    await analytics.aggregate();
    assert.deepEqual(analytics.snapshot('b.example')?.web_vitals, { lcp: same(0), cls: same(0), inp: same(80) });
  });

  it('drops views from the windows after a minute and an hour without any traffic, and keeps totals', () => {
    const clock = handClock();
    const analytics = createAnalytics({ clock });
    analytics.record({ domains: [domainReport('a.example', { requests: 5 })] });
    const views = () => {
      const snapshot = analytics.snapshot('a.example');
      return [snapshot?.page_views_1m, snapshot?.page_views_60m, snapshot?.bytes_sent];
    };
    assert.deepEqual(views(), [5, 5, 100]);
    clock.at = 59_999;
    assert.deepEqual(views(), [5, 5, 100]);
    clock.at = 60_000;
    assert.deepEqual(views(), [0, 5, 100]);
    clock.at = 3_599_999;
    assert.deepEqual(views(), [0, 5, 100]);
    clock.at = 3_600_000;
    assert.deepEqual(views(), [0, 0, 100]);
  });

  it('lists the hosts of which five requests, and more than 5 %, were answered with 5xx within five minutes', () => {
    const clock = handClock();
    const analytics = createAnalytics({ clock });
    const record = (host: string, well: number, failed: number): void =>
      analytics.record({ domains: [domainReport(host, { requests: well + failed, classes: [0, well, 0, 0, failed, 0] })] });
    const failing = () => [...analytics.failing()].filter((host) => host !== null);
    record('few.test', 0, 4);
    record('rare.test', 95, 5);
    record('often.test', 0, 4);
    clock.at += 4 * 60_000;
    record('often.test', 1, 1);
    assert.deepEqual(failing(), [{ domain: 'often.test', pattern: 'often.test', requests: 6, failed: 5 }]);
    record('rare.test', 0, 1);
    assert.deepEqual(failing().at(0), { domain: 'rare.test', pattern: 'rare.test', requests: 101, failed: 6 });
    clock.at += 60_000;
    assert.deepEqual(failing(), [], 'the first ones are too long ago');
  });

  it('lists no host whose last failure is more than two minutes ago', () => {
    const clock = handClock();
    const analytics = createAnalytics({ clock });
    analytics.record({ domains: [domainReport('a.test', { requests: 9, classes: [0, 0, 0, 0, 9, 0] })] });
    clock.at += 60_000;
    assert.equal([...analytics.failing()][0]?.failed, 9);
    clock.at += 60_000;
    assert.deepEqual([...analytics.failing()], [null]);
  });

  it('returns at most ten entries per list, and sorts domains by name', () => {
    const analytics = createAnalytics({ clock: handClock() });
    const pages = Array.from({ length: 30 }, (_, at) => [`/${at}`, 100 - at] as const);
    analytics.record({ domains: [domainReport('b.example', { pages, referrers: pages }), domainReport('a.example')] });
    assert.deepEqual(
      [...analytics.snapshots()].map((one) => [one.domain, one.top_pages.length, one.referrers.length]),
      [
        ['a.example', 0, 0],
        ['b.example', 10, 10],
      ],
    );
  });

  it('ignores requests without a route', () => {
    const analytics = createAnalytics({ clock: handClock() });
    analytics.record({ domains: [domainReport('', { pattern: '' })] });
    assert.deepEqual([...analytics.snapshots()], []);
  });
});

describe('hosts under a wildcard', () => {
  const under = (host: string, more: Partial<DomainReport> = {}) => domainReport(host, { pattern: '*.example', ...more });

  it('have a snapshot each', () => {
    const analytics = createAnalytics({ clock: handClock() });
    analytics.record({ domains: [under('a.example'), under('b.example')] });
    assert.deepEqual(
      [...analytics.snapshots()].map((one) => one.domain),
      ['a.example', 'b.example'],
    );
  });

  it('are merged into the pattern when there are too many, least recently used first, without losing counts', async () => {
    const analytics = createAnalytics({ clock: handClock() });
    const hosts = Array.from({ length: MAX_HOSTS_PER_PATTERN }, (_, at) => `h${at}.example`);
    const details = {
      visitors: [1, 2],
      pages: [['/p', 3]],
      referrers: [['r.test', 4]],
      countries: [['DE', 5]],
      vitals: [{ lcp: 9 }],
    } as const;
    analytics.record({ domains: hosts.map((host) => under(host, details)) });
    analytics.record({ domains: [under('h0.example')] });
    assert.equal(analytics.snapshot('*.example'), undefined);
    analytics.record({ domains: [under('new1.example', { visitors: [3] }), under('new2.example')] });
    assert.equal(analytics.snapshot('h1.example'), undefined);
    assert.equal(analytics.snapshot('h2.example'), undefined);
    assert.ok(analytics.snapshot('h0.example'), 'it was used since');
    const folded = analytics.snapshot('*.example');
    assert.deepEqual(
      [folded?.page_views_1m, folded?.page_views_60m, folded?.unique_visitors, folded?.bytes_sent, folded?.status_codes.s2xx],
      [2, 2, 2, 200, 2],
    );
    assert.deepEqual(
      [folded?.top_pages, folded?.referrers, folded?.countries],
      [[{ path: '/p', views: 6 }], [{ domain: 'r.test', count: 8 }], [{ country: 'DE', count: 10 }]],
    );
    await analytics.aggregate();
    assert.equal(analytics.snapshot('*.example')?.web_vitals.lcp.p50, 9);
    const total = [...analytics.snapshots()].reduce((sum, one) => sum + one.bytes_sent, 0);
    assert.deepEqual([[...analytics.snapshots()].length, total], [MAX_HOSTS_PER_PATTERN + 1, 100 * (MAX_HOSTS_PER_PATTERN + 3)]);
  });

  it('keep their counts when they get their own route, and no longer count against the wildcard’s limit', () => {
    const analytics = createAnalytics({ clock: handClock() });
    analytics.record({ domains: [under('own.example')] });
    analytics.record({ domains: [domainReport('own.example')] });
    analytics.record({ domains: Array.from({ length: MAX_HOSTS_PER_PATTERN }, (_, at) => under(`h${at}.example`)) });
    assert.equal(analytics.snapshot('own.example')?.bytes_sent, 200);
    assert.equal(analytics.snapshot('*.example'), undefined);
  });

  it('are merged into their pattern when those of all wildcards take too much memory, those of the largest wildcards first', () => {
    const analytics = createAnalytics({ clock: handClock(), limits: { hosts: 1_000, bytes: 1_000_000 } });
    const pages = Array.from({ length: 100 }, (_, at) => [`/${at}`.padEnd(256, 'x'), 1] as const);
    const record = (host: string, pattern: string): void => analytics.record({ domains: [domainReport(host, { pattern, pages })] });
    for (let tenant = 0; tenant < 3; tenant++) record(`t${tenant}.shop.example`, '*.shop.example');
    for (let invented = 0; invented < 200; invented++)
      for (const pattern of ['*.a.example', '*.b.example']) record(`i${invented}${pattern.slice(1)}`, pattern);
    const kept = [...analytics.snapshots()].map(({ domain }) => domain);
    const below = (pattern: string) => kept.filter((domain) => domain !== pattern && domain.endsWith(pattern.slice(1)));
    assert.equal(below('*.shop.example').length, 3, 'those of a wildcard with few hosts stay');
    for (const pattern of ['*.a.example', '*.b.example']) {
      assert.ok(below(pattern).length >= 10 && below(pattern).length <= 15, `${below(pattern).length}`);
      assert.ok(kept.includes(`i199${pattern.slice(1)}`), 'it was used last');
    }
    const requests = [...analytics.snapshots()].reduce((sum, one) => sum + one.page_views_60m, 0);
    assert.equal(requests, 403);
  });

  it('leave no memory to others when they are forgotten or have a route of their own', () => {
    const analytics = createAnalytics({ clock: handClock(), limits: { hosts: 1_000, bytes: 100_000 } });
    const hosts = Array.from({ length: 25 }, (_, at) => `h${at}.example`);
    for (let round = 0; round < 20; round++) {
      for (const host of hosts) analytics.record({ domains: [under(host)] });
      assert.equal([...analytics.snapshots()].length, 25);
      for (const host of hosts) {
        if (round % 2 === 0) analytics.record({ domains: [domainReport(host)] });
        analytics.forget(host);
      }
    }
  });
});
