import assert from 'node:assert/strict';
import fs, { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { describe, it } from 'node:test';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import type { History } from '../../../shared/wire/history.ts';
import type { Audience, DomainReport } from '../../traffic/protocol.ts';
import { domainReport, EMPTY_AUDIENCE } from '../../traffic/testing/samples/domain-report.ts';
import { SpaceSaving } from '../sketches/space-saving.ts';
import { someHashes } from '../testing/hashes.ts';
import { type HistoryAnswer, HistoryKeeper } from './keeper.ts';
import { parseRange } from './range.ts';
import { Recent } from './recent.ts';
import { ALL_HOSTS, DAY, HOUR, type Retention } from './store.ts';

const START = Date.UTC(2026, 0, 5);
const KEPT: Retention = { hoursMs: 35 * DAY, daysMs: 400 * DAY, maxBytes: 2 ** 30 };

class Setup {
  readonly folder = mkdtempSync(join(tmpdir(), 'history-'));
  readonly path = join(this.folder, 'state', 'analytics.db');
  readonly log = memoryLog();
  now = START;
  /** How far the time of day is ahead of the monotonic clock. */
  jumped = 0;
  readonly clock: Clock = { ...systemClock, now: () => this.now, monotonic: () => this.now - this.jumped };

  constructor() {
    mkdirSync(join(this.folder, 'state'));
  }

  keeper(retention: Partial<Retention> = {}): HistoryKeeper {
    return new HistoryKeeper({ path: this.path, retention: { ...KEPT, ...retention }, clock: this.clock, log: this.log });
  }

  /** The time of day jumps. */
  jump(ms: number): void {
    this.now += ms;
    this.jumped += ms;
  }

  get messages(): string[] {
    return this.log.lines.map(({ message }) => message);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true });
  }
}

const audience = (more: Partial<Audience>): Audience => ({ ...EMPTY_AUDIENCE, ...more });

/** People looking at `/`, by the hashes of their addresses. */
const visits = (host: string, visitors: readonly number[], more: Partial<DomainReport> = {}): DomainReport => {
  const pages = [['/', visitors.length]] as const;
  const seen = audience({ humans: visitors.length, pageViews: visitors.length, visitors, lists: { ...EMPTY_AUDIENCE.lists, pages } });
  return domainReport(host, { requests: visitors.length, audience: seen, ...more });
};

function ask(keeper: HistoryKeeper, host: string, query: Record<string, string>, now = START): History {
  const range = parseRange(new Map(Object.entries(query)), now);
  assert.ok(range.ok, JSON.stringify(range));
  const answer = keeper.answer(host, range.value, 'json');
  assert.equal(answer.kind, 'history', JSON.stringify(answer));
  return answer.kind === 'history' ? JSON.parse(answer.text) : assert.fail();
}

const sweepAll = (keeper: HistoryKeeper): void => {
  while (keeper.sweep());
};

/** In all of its steps. */
function forget(keeper: HistoryKeeper, host: string): HistoryAnswer {
  const steps = keeper.forget(host);
  let step = steps.next();
  while (!step.done) step = steps.next();
  return step.value;
}

describe('history', () => {
  it('answers every count of an hour, before and after it was saved and after a restart', () => {
    using setup = new Setup();
    const keeper = setup.keeper();
    keeper.add([
      domainReport('a.test', {
        requests: 10,
        classes: [0, 6, 1, 1, 1, 1],
        bytes: 5_000,
        latency: [
          [59, 9],
          [235, 1],
        ],
        vitals: [{ lcp: 2_000, cls: 0 }, { lcp: 3_000, inp: 600 }, { lcp: 9_000 }],
        audience: audience({
          humans: 4,
          machines: { excluded: 1, gpc: 1, prefetch: 1, monitor: 1, bot: 2 },
          pageViews: 3,
          visitors: [1, 2],
          lists: {
            ...EMPTY_AUDIENCE.lists,
            pages: [
              ['/x', 2],
              ['/', 1],
            ],
            browsers: [['Firefox', 3]],
            utm_source: [['news', 1]],
          },
        }),
      }),
    ]);
    const look = (one: HistoryKeeper) => {
      const { domain, step, now, totals, series, lists, previous } = ask(one, 'a.test', { from: '2026-01-05', to: '2026-01-05T02:00:00Z' });
      assert.deepEqual([domain, step, now], ['a.test', 'hour', one === keeper ? 2 : 0]);
      assert.deepEqual([totals.views, totals.humans, totals.page_views, totals.visitors, totals.bytes], [10, 4, 3, 2, 5_000]);
      assert.deepEqual(totals.machines, { excluded: 1, gpc: 1, prefetch: 1, monitor: 1, bot: 2 });
      assert.equal(totals.humans + Object.values(totals.machines).reduce((sum, count) => sum + count, 0), totals.views);
      assert.deepEqual(totals.status_codes, { s1xx: 0, s2xx: 6, s3xx: 1, s4xx: 1, s5xx: 1, other: 1 });
      assert.ok(Math.abs(totals.latency.p50 - 1) < 0.03 && Math.abs(totals.latency.p99 / 1_000 - 1) < 0.03, JSON.stringify(totals.latency));
      const { lcp, cls, inp } = totals.web_vitals;
      assert.deepEqual([lcp.count, lcp.good, lcp.needs_improvement, lcp.poor], [3, 1, 1, 1]);
      assert.ok(Math.abs(lcp.p50 / 3_000 - 1) < 0.03);
      assert.deepEqual([cls.count, cls.good, cls.p75, inp.poor], [1, 1, 0, 1]);
      assert.deepEqual(
        series.map(({ at, views }) => [at, views]),
        [
          ['2026-01-05T00:00:00.000Z', 10],
          ['2026-01-05T01:00:00.000Z', 0],
        ],
      );
      assert.deepEqual(
        [lists.pages, lists.browsers, lists.utm_source, lists.systems],
        [
          [
            { name: '/x', count: 2 },
            { name: '/', count: 1 },
          ],
          [{ name: 'Firefox', count: 3 }],
          [{ name: 'news', count: 1 }],
          [],
        ],
      );
      assert.deepEqual([previous.from, previous.to, previous.totals.views], ['2026-01-04T22:00:00.000Z', '2026-01-05T00:00:00.000Z', 0]);
    };
    look(keeper);
    keeper.save();
    look(keeper);
    keeper.close();
    look(setup.keeper());
  });

  it('adds to the counts that are saved already, also from another process during a takeover', () => {
    using setup = new Setup();
    const [old, successor] = [setup.keeper(), setup.keeper()];
    old.add([visits('a.test', [1, 2])]);
    successor.add([visits('a.test', [2, 3])]);
    old.save();
    successor.close();
    old.add([visits('a.test', [4])]);
    old.close();
    const { totals } = ask(setup.keeper(), 'a.test', {});
    assert.deepEqual([totals.views, totals.visitors], [5, 4]);
  });

  it('compares with the period before, and counts a visitor of several hours once', () => {
    using setup = new Setup();
    const keeper = setup.keeper();
    for (let hour = 0; hour < 48; hour++) {
      setup.now = START + hour * HOUR;
      keeper.add([visits('a.test', hour < 24 ? [1] : [1, 2, hour])]);
      keeper.save();
    }
    const { totals, previous, series } = ask(keeper, 'a.test', { from: '2026-01-06', to: '2026-01-07' });
    assert.deepEqual([totals.views, totals.visitors, series.length], [72, 26, 24]);
    assert.deepEqual([previous.totals.views, previous.totals.visitors, previous.series[3]?.views], [24, 1, 1]);
    const chosen = { previous_from: '2026-01-05T20:00:00Z', previous_to: '2026-01-06T02:00:00Z' };
    const other = ask(keeper, 'a.test', { from: '2026-01-06', to: '2026-01-07', ...chosen }).previous;
    assert.deepEqual([other.totals.views, other.series.length, other.from], [10, 6, '2026-01-05T20:00:00.000Z']);
  });

  it('adds up the lists of each hour once, not for its point of the series as well', (t) => {
    using setup = new Setup();
    const keeper = setup.keeper();
    for (let hour = 0; hour < 24; hour++) {
      setup.now = START + hour * HOUR;
      keeper.add([visits('a.test', [hour])]);
      keeper.save();
    }
    const merge = t.mock.method(SpaceSaving.prototype, 'merge');
    const { lists, series } = ask(keeper, 'a.test', { from: '2026-01-05', to: '2026-01-06' });
    assert.deepEqual([lists.pages, series.length], [[{ name: '/', count: 24 }], 24]);
    assert.equal(merge.mock.callCount(), 24);
  });

  it('reports since when it is kept, so that a period known only in part is not used for a comparison', () => {
    using setup = new Setup();
    const keeper = setup.keeper({ hoursMs: 2 * DAY });
    const since = (query: Record<string, string> = {}) => ask(keeper, 'a.test', query, setup.now).kept_since;
    keeper.add([visits('b.test', [1])]);
    setup.now = START + HOUR;
    keeper.add([visits('a.test', [1])]);
    assert.equal(since(), '2026-01-05T01:00:00.000Z', 'before it is saved');
    keeper.save();
    assert.equal(since(), '2026-01-05T01:00:00.000Z', 'after');
    for (let day = 1; day < 8; day++) {
      setup.now = START + day * DAY + HOUR;
      keeper.add([visits('a.test', [day])]);
      keeper.save();
    }
    sweepAll(keeper);
    assert.equal(since({ step: 'day' }), '2026-01-05T00:00:00.000Z', 'by the day');
    assert.equal(since(), '2026-01-10T00:00:00.000Z', 'by the hour, of which fewer are kept');
    forget(keeper, 'a.test');
    keeper.add([visits('a.test', [1])]);
    assert.equal(since({ step: 'day' }), '2026-01-12T01:00:00.000Z', 'after it was forgotten');
  });

  it('counts days that were rolled up in the day of another time zone that has their middle', () => {
    using setup = new Setup();
    const keeper = setup.keeper({ hoursMs: 2 * DAY });
    for (let day = 0; day < 8; day++) {
      setup.now = START + day * DAY + HOUR;
      keeper.add([visits('a.test', someHashes(day, day + 1))]);
      keeper.save();
    }
    sweepAll(keeper);
    for (const [zone, expected] of [
      ['Z', [2, 3, 4]],
      ['-05:00', [2, 3, 4]],
      ['+09:00', [2, 3, 4]],
    ] as const) {
      const { series, totals } = ask(keeper, 'a.test', {
        from: `2026-01-06T00:00:00${zone}`,
        to: `2026-01-09T00:00:00${zone}`,
        step: 'day',
      });
      assert.deepEqual([series.map(({ views }) => views), totals.views], [expected, 9], zone);
    }
  });

  it('is kept by the hour and then by the day, whose visitors stay exact', () => {
    using setup = new Setup();
    const keeper = setup.keeper({ hoursMs: 3 * DAY, daysMs: 6 * DAY });
    for (let hour = 0; hour < 10 * 24; hour++) {
      setup.now = START + hour * HOUR;
      keeper.add([visits('a.test', [1, 1_000 + Math.floor(hour / 24)])]);
      keeper.save();
      sweepAll(keeper);
    }
    setup.now += 2 * HOUR;
    sweepAll(keeper);
    const { totals, series } = ask(keeper, 'a.test', { from: '2026-01-05', to: '2026-01-15', step: 'day' });
    const views = series.map((point) => point.views);
    assert.deepEqual(views, [0, 0, 0, 0, 48, 48, 48, 48, 48, 48]);
    assert.equal(series[5]?.visitors, 2);
    assert.equal(totals.visitors, 7);
    const fine = parseRange(
      new Map([
        ['from', '2026-01-09'],
        ['to', '2026-01-10'],
        ['step', 'hour'],
      ]),
      setup.now,
    );
    assert.ok(fine.ok);
    assert.deepEqual(keeper.answer('a.test', fine.value, 'json'), { kind: 'too fine', since: Date.UTC(2026, 0, 12) });
    const whatThereIs = ask(keeper, 'a.test', { from: '2026-01-09', to: '2026-01-11' });
    assert.deepEqual([whatThereIs.step, whatThereIs.series.map((point) => point.views)], ['day', [48, 48]]);
  });

  it('survives a clock that jumps years ahead and comes back', () => {
    using setup = new Setup();
    const keeper = setup.keeper({ hoursMs: 3 * DAY, daysMs: 6 * DAY });
    const visit = (): void => {
      keeper.add([visits('a.test', [1])]);
      keeper.save();
      sweepAll(keeper);
    };
    for (let day = 0; day < 3; day++, setup.now += DAY) visit();
    setup.jump(3_650 * DAY);
    for (let hour = 0; hour < 20; hour++, setup.now += HOUR) visit();
    setup.jump(-3_650 * DAY);
    visit();
    const { series } = ask(keeper, 'a.test', { from: '2026-01-05', to: '2026-01-09', step: 'day' });
    assert.deepEqual(
      series.map(({ views }) => views),
      [1, 1, 1, 1],
    );
    assert.equal(setup.messages.filter((message) => message.startsWith('the clock differs')).length, 1);
  });

  for (const [what, restart] of [
    ['after a jump of the clock', false],
    ['after months without a process', true],
  ] as const)
    it(`is deleted for its age when an unexpected time has lasted for a day: ${what}`, () => {
      using setup = new Setup();
      const kept = { hoursMs: 3 * DAY, daysMs: 6 * DAY };
      let keeper = setup.keeper(kept);
      keeper.add([visits('a.test', [1])]);
      keeper.save();
      sweepAll(keeper);
      if (restart) keeper.close();
      setup.jump(90 * DAY);
      if (restart) keeper = setup.keeper(kept);
      const views = (): number => ask(keeper, 'a.test', { from: '2026-01-05', to: '2026-01-06', step: 'day' }).totals.views;
      for (let hour = 0; hour < 24; hour++, setup.now += HOUR) {
        sweepAll(keeper);
        assert.equal(views(), 1);
      }
      keeper.add([visits('a.test', [1])]);
      keeper.save();
      sweepAll(keeper);
      assert.equal(views(), 0);
    });

  it('begins again, by the hour and by the day, after a clock that was ahead for long has deleted it', () => {
    using setup = new Setup();
    const keeper = setup.keeper({ hoursMs: 3 * DAY });
    const visit = (): void => {
      keeper.add([visits('a.test', [1])]);
      keeper.save();
      sweepAll(keeper);
    };
    for (const years of [10, -10]) {
      visit();
      setup.jump(years * 365 * DAY);
      for (let hour = 0; hour < 48; hour++, setup.now += HOUR) visit();
    }
    for (let hour = 0; hour < 96; hour++, setup.now += HOUR) visit();
    const day = (query: Record<string, string>): number[] => ask(keeper, 'a.test', query, setup.now).series.map(({ views }) => views);
    assert.deepEqual(day({ from: '2026-01-12', to: '2026-01-13', step: 'hour' }), Array(24).fill(1));
    assert.deepEqual(day({ from: '2026-01-09', to: '2026-01-11', step: 'day' }), [24, 24]);
  });

  it('stays within its size while the time of day is doubtful', () => {
    using setup = new Setup();
    const maxBytes = 1_048_576;
    const keeper = setup.keeper({ maxBytes });
    setup.jump(-100 * DAY);
    for (let minute = 0; minute < 20; minute++, setup.jump(HOUR)) {
      keeper.add(Array.from({ length: 200 }, (_, host) => visits(`h${host}.test`, someHashes(minute * 1_000 + host, 20))));
      keeper.save();
      sweepAll(keeper);
    }
    assert.ok(statSync(setup.path).size < maxBytes * 1.3, `${statSync(setup.path).size} bytes`);
  });

  it('counts the visitors of a longer time exactly as long as no hour has more than 256, and estimates them after that', () => {
    using setup = new Setup();
    const keeper = setup.keeper();
    const hashes = someHashes(1, 24 * 200);
    for (let hour = 0; hour < 24; hour++) {
      setup.now = START + hour * HOUR;
      // Fifty of each hour's visitors return in the next one.
      keeper.add([visits('a.test', hashes.slice(hour * 200, hour * 200 + 250))]);
      if (hour % 2 === 0) keeper.save();
    }
    const day = { from: '2026-01-05', to: '2026-01-06' };
    const { totals, series, now } = ask(keeper, 'a.test', day, setup.now);
    assert.deepEqual([totals.visitors, series[3]?.visitors, now], [24 * 200, 250, 200]);
    keeper.add([visits('a.test', someHashes(2, 1_000))]);
    const { totals: more } = ask(keeper, 'a.test', day, setup.now);
    assert.ok(Math.abs(more.visitors - 5_800) < 5_800 * 0.06, `${more.visitors}`);
  });

  it('counts the visitors of the last minutes, also if the clock is set', () => {
    using setup = new Setup();
    const keeper = setup.keeper();
    const now = (): number => ask(keeper, 'a.test', {}, setup.now).now;
    const visit = (visitor: number): void => keeper.add([visits('a.test', [visitor])]);
    visit(1);
    setup.jump(-30_000);
    visit(2);
    assert.equal(now(), 2, 'half a minute is corrected');
    setup.jump(-DAY);
    visit(3);
    assert.equal(now(), 1, 'set back by a day');
    setup.jump(2 * DAY);
    visit(4);
    assert.equal(now(), 1);
  });

  it('stays within its size: the oldest hours are deleted first', () => {
    using setup = new Setup();
    const maxBytes = 1_048_576;
    const keeper = setup.keeper({ maxBytes });
    for (let hour = 0; hour < 120; hour++) {
      setup.now = START + hour * HOUR;
      keeper.add(Array.from({ length: 40 }, (_, host) => visits(`h${host}.test`, someHashes(hour * 100 + host, 20))));
      keeper.save();
      sweepAll(keeper);
    }
    assert.ok(statSync(setup.path).size < maxBytes * 1.3, `${statSync(setup.path).size} bytes`);
    const { series } = ask(keeper, 'h1.test', { from: '2026-01-05', to: '2026-01-10', step: 'day' });
    assert.equal(series.at(-1)?.views, 480, 'the newest day is whole');
    assert.equal(series[0]?.views, 480, 'the oldest is left by the day');
    const fine = parseRange(
      new Map([
        ['from', '2026-01-05'],
        ['to', '2026-01-06'],
        ['step', 'hour'],
      ]),
      setup.now,
    );
    assert.ok(fine.ok);
    assert.equal(keeper.answer('h1.test', fine.value, 'json').kind, 'too fine');
  });

  it('gives room to hosts that are invented below a wildcard only at the cost of that wildcard', () => {
    using setup = new Setup();
    const maxBytes = 1_048_576;
    const keeper = setup.keeper({ maxBytes });
    const invented = (hour: number): DomainReport[] =>
      Array.from({ length: 60 }, (_, at) =>
        visits(`h${hour}-${at}.wild.test`, someHashes(hour * 100 + at, 20), { pattern: '*.wild.test' }),
      );
    for (let hour = 0; hour < 120; hour++) {
      setup.now = START + hour * HOUR;
      keeper.add([
        visits('a.test', [1]),
        visits('h.tenants.test', [1], { pattern: '*.tenants.test' }),
        ...(hour < 48 ? [] : invented(hour)),
      ]);
      keeper.save();
      sweepAll(keeper);
    }
    assert.ok(statSync(setup.path).size < maxBytes * 1.3, `${statSync(setup.path).size} bytes`);
    const hours = { from: '2026-01-05', to: '2026-01-10', step: 'hour' };
    for (const host of ['a.test', 'h.tenants.test'])
      assert.deepEqual(
        ask(keeper, host, hours).series.map(({ views }) => views),
        Array(120).fill(1),
        host,
      );
    const { hosts, totals } = ask(keeper, ALL_HOSTS, { from: '2026-01-09', to: '2026-01-10' });
    assert.deepEqual([hosts?.length, totals.views], [1_000, 24 * (60 * 20 + 2)], 'the newest day is whole');
  });

  it('counts each view once of a wildcard that gave up hours of a day before it was over', () => {
    using setup = new Setup();
    const keeper = setup.keeper({ maxBytes: 1_048_576 });
    const wild = (host: string, visitors: readonly number[]) => visits(host, visitors, { pattern: '*.wild.test' });
    for (let hour = 0; hour < 30; hour++) {
      setup.now = START + hour * HOUR;
      const invented = hour === 20 ? 150 : hour === 23 ? 60 : 0;
      keeper.add([wild('kept.wild.test', [1])]);
      keeper.add(Array.from({ length: invented }, (_, at) => wild(`h${hour}-${at}.wild.test`, someHashes(hour * 1_000 + at, 200))));
      keeper.save();
      sweepAll(keeper);
    }
    const days = { from: '2026-01-05', to: '2026-01-07' };
    const { hosts = [] } = ask(keeper, ALL_HOSTS, days);
    // Those of the last nine hours.
    assert.equal(ask(keeper, 'kept.wild.test', days).totals.views, 9);
    assert.equal(hosts.find(({ domain }) => domain === 'kept.wild.test')?.views, 9);
  });

  it('reads a file of a version that did not know below which wildcard a host is', () => {
    using setup = new Setup();
    const keeper = setup.keeper();
    keeper.add([visits('a.wild.test', [1], { pattern: '*.wild.test' })]);
    keeper.close();
    const database = new DatabaseSync(setup.path);
    database.exec('ALTER TABLE hosts DROP COLUMN wildcard; ALTER TABLE hosts DROP COLUMN hours_from');
    database.close();
    const again = setup.keeper();
    again.add([visits('a.wild.test', [2], { pattern: '*.wild.test' })]);
    again.save();
    assert.equal(ask(again, 'a.wild.test', {}).totals.visitors, 2);
    assert.deepEqual(setup.messages, []);
  });

  it('gives at most 1,000 hosts of a wildcard a row in an hour; the others share the row of the pattern', () => {
    using setup = new Setup();
    const keeper = setup.keeper();
    keeper.add(Array.from({ length: 1_500 }, (_, at) => visits(`h${at}.test`, [at], { pattern: '*.test' })));
    assert.equal(ask(keeper, '*.test', {}).totals.views, 500);
    const { totals, hosts } = ask(keeper, ALL_HOSTS, {});
    assert.deepEqual(
      [totals.views, hosts?.length, hosts?.[0]],
      [1_500, 1_000, { domain: '*.test', views: 500, humans: 500, page_views: 500 }],
    );
  });

  it('lists the busiest hosts, also if they are only so with what is not saved yet', () => {
    using setup = new Setup();
    const keeper = setup.keeper();
    keeper.add(Array.from({ length: 1_500 }, (_, at) => domainReport(`h${at}.test`, { requests: 10_000 - at })));
    keeper.save();
    keeper.add([domainReport('h1400.test', { requests: 5_000 }), domainReport('new.test', { requests: 9_999 })]);
    const { hosts = [] } = ask(keeper, ALL_HOSTS, {});
    assert.equal(hosts.length, 1_000);
    assert.deepEqual(
      hosts.slice(0, 4).map(({ domain, views }) => [domain, views]),
      [
        ['h1400.test', 13_600],
        ['h0.test', 10_000],
        ['h1.test', 9_999],
        ['new.test', 9_999],
      ],
    );
  });

  it('reads only the busiest of very many hosts from the file', (t) => {
    using setup = new Setup();
    const keeper = setup.keeper();
    keeper.add(Array.from({ length: 3_000 }, (_, at) => domainReport(`h${at}.test`)));
    keeper.save();
    let read = 0;
    const { all, iterate } = StatementSync.prototype;
    t.mock.method(StatementSync.prototype, 'all', function (this: StatementSync, ...given: Parameters<typeof all>) {
      const rows = all.apply(this, given);
      read += rows.length;
      return rows;
    });
    t.mock.method(StatementSync.prototype, 'iterate', function* (this: StatementSync, ...given: Parameters<typeof iterate>) {
      for (const row of iterate.apply(this, given)) {
        read++;
        yield row;
      }
    });
    assert.equal(ask(keeper, ALL_HOSTS, {}).hosts?.length, 1_000);
    assert.ok(read >= 1_000 && read < 1_100, `${read} rows`);
  });

  it('forgets a host, and nothing else', () => {
    using setup = new Setup();
    const keeper = setup.keeper();
    keeper.add([visits('a.test', [1]), visits('b.test', [2])]);
    keeper.save();
    keeper.add([visits('a.test', [3])]);
    assert.equal(forget(keeper, 'a.test').kind, 'history');
    assert.equal(forget(keeper, 'a.test').kind, 'unknown');
    const range = parseRange(new Map(), START);
    assert.ok(range.ok);
    assert.deepEqual(keeper.answer('a.test', range.value, 'json'), { kind: 'unknown' });
    assert.equal(ask(keeper, 'b.test', {}).totals.views, 1);
  });

  it('forgets a host in steps, between which it saves counts and answers, and goes on after a stop', () => {
    using setup = new Setup();
    const keeper = setup.keeper();
    for (let hour = 0; hour < 450; hour++) {
      setup.now = START + hour * HOUR;
      keeper.add([visits('a.test', [1])]);
      keeper.save();
    }
    const query = { from: '2026-01-05', to: '2026-01-30', step: 'day' };
    const viewsOf = (one: HistoryKeeper, host: string): number => ask(one, host, query, setup.now).totals.views;
    const steps = keeper.forget('a.test');
    assert.equal(steps.next().done, false);
    assert.equal(viewsOf(keeper, 'a.test'), 250);
    keeper.add([visits('a.test', [2]), visits('b.test', [2])]);
    keeper.save();
    assert.equal(viewsOf(keeper, 'b.test'), 1);
    keeper.close();
    assert.deepEqual(steps.next(), {
      done: true,
      value: { kind: 'unavailable', reason: 'the history was closed before all was deleted' },
    });
    const next = setup.keeper();
    assert.equal(forget(next, 'a.test').kind, 'history');
    assert.equal(forget(next, 'a.test').kind, 'unknown');
    assert.equal(viewsOf(next, 'b.test'), 1);
    assert.deepEqual(setup.messages, []);
  });

  it('leaves nothing of a host that it has forgotten in the file', (t) => {
    using setup = new Setup();
    const keeper = setup.keeper();
    const rowsOf = (which: string): string[] => {
      using database = new DatabaseSync(setup.path, { readOnly: true });
      const rows = database.prepare(`SELECT data FROM hours JOIN hosts ON id = host WHERE name ${which}`).all();
      return rows.map(({ data }) => Buffer.from(data as Uint8Array).toString('latin1'));
    };
    const saved = new Set<string>();
    for (let hour = 0; hour < 30; hour++) {
      setup.now = START + hour * HOUR;
      for (let pages = 1; pages <= 120; pages += 40) {
        const seen = Array.from({ length: pages }, (_, n): [string, number] => [`/patients/${hour}-${n}-${someHashes(n, 1)[0]}`, 1]);
        const lists = { ...EMPTY_AUDIENCE.lists, pages: seen };
        keeper.add([
          visits('gone.test', someHashes(pages, pages), { audience: audience({ humans: pages, pageViews: pages, lists }) }),
          visits('kept.test', [hour]),
        ]);
        keeper.save();
        for (const row of rowsOf("= 'gone.test'")) saved.add(row.slice(-60, -20));
      }
    }
    sweepAll(keeper);
    const others = rowsOf("<> 'gone.test'").join(' ');
    const pieces = [...saved].filter((piece) => !others.includes(piece));
    const found = (): number => {
      const bytes = ['', '-wal'].map((end) => readFileSync(setup.path + end, 'latin1')).join(' ');
      return [...pieces, 'gone.test'].filter((piece) => bytes.includes(piece)).length;
    };
    assert.ok(found() > 20, `${found()} of ${pieces.length}`);
    const exec = t.mock.method(DatabaseSync.prototype, 'exec');
    forget(keeper, 'gone.test');
    assert.equal(found(), 0);
    assert.ok(!exec.mock.calls.some(({ arguments: [sql] }) => sql === 'VACUUM'), 'a file of this version need not be rewritten');
    assert.equal(ask(keeper, 'kept.test', { from: '2026-01-05', to: '2026-01-07' }, setup.now).totals.views, 90);
  });

  it('rewrites a file of a version that did not overwrite, beside it and once, and at the next deletion if there is too little space', (t) => {
    using setup = new Setup();
    setup.keeper().close();
    const names = Array.from({ length: 40 }, (_, nth) => `gone-${nth}.test`);
    {
      using earlier = new DatabaseSync(setup.path);
      earlier.exec("PRAGMA secure_delete = OFF; DELETE FROM marks WHERE name = 'overwritten'");
      const putHost = earlier.prepare('INSERT INTO hosts (id, name) VALUES (?, ?)');
      const putHour = earlier.prepare('INSERT OR REPLACE INTO hours (host, at, views, humans, page_views, data) VALUES (?, ?, 1, 1, 1, ?)');
      for (const [nth, name] of names.entries()) {
        putHost.run(2 * nth + 1, name);
        putHost.run(2 * nth + 2, `kept-${nth}.test`);
      }
      for (let times = 1; times <= 8; times++)
        for (let host = 1; host <= 2 * names.length; host++)
          for (let hour = 0; hour < 3; hour++)
            putHour.run(
              host,
              START + hour * HOUR,
              Buffer.from(`${host % 2 === 0 ? 'kept' : 'of a patient'} ${'.'.repeat((times * 37 * host) % 300)}`),
            );
    }
    const found = (): number => {
      const bytes = ['', '-wal'].map((end) => readFileSync(setup.path + end, 'latin1')).join(' ');
      return bytes.split('of a patient').length - 1;
    };
    const { exec: execute } = DatabaseSync.prototype;
    let isFull = true;
    const exec = t.mock.method(DatabaseSync.prototype, 'exec', function (this: DatabaseSync, sql: string) {
      if (sql === 'VACUUM') {
        // The only folder of a read-only container that can be written.
        assert.deepEqual(this.prepare('PRAGMA temp_store_directory').all().flatMap(Object.values), [dirname(setup.path)]);
        if (isFull) throw new Error('database or disk is full');
      }
      execute.call(this, sql);
    });
    const isRewritten = (): boolean => exec.mock.calls.some(({ arguments: [sql] }) => sql === 'VACUUM');
    const keeper = setup.keeper();
    for (const name of names) assert.equal(forget(keeper, name).kind, 'history');
    assert.ok(found() > 0, 'an earlier version left something');
    assert.match(setup.messages.join(), /^the history may still contain parts of what an earlier version deleted; the next deletion tries/);
    assert.equal(keeper.failure, null);
    isFull = false;
    exec.mock.resetCalls();
    const room = t.mock.method(fs, 'statfsSync', () => ({ bavail: (2 * statSync(setup.path).size) / 1_024, bsize: 1_024 }));
    t.after(syncBuiltinESMExports);
    syncBuiltinESMExports();
    forget(keeper, 'gone-0.test');
    assert.equal(isRewritten(), false, 'it would fill the disk, and fail then');
    room.mock.restore();
    syncBuiltinESMExports();
    forget(keeper, 'gone-0.test');
    assert.equal(isRewritten(), true);
    assert.equal(found(), 0);
    exec.mock.resetCalls();
    forget(keeper, 'kept-0.test');
    assert.equal(isRewritten(), false);
  });

  it('answers a series as CSV with a header', () => {
    using setup = new Setup();
    const keeper = setup.keeper();
    keeper.add([visits('a.test', [1, 2])]);
    const range = parseRange(
      new Map([
        ['from', '2026-01-05'],
        ['to', '2026-01-05T02:00:00Z'],
      ]),
      START,
    );
    assert.ok(range.ok);
    const answer = keeper.answer('a.test', range.value, 'csv');
    assert.ok(answer.kind === 'history');
    const [header = '', first = '', second = '', end] = answer.text.split('\r\n');
    assert.match(header, /^at,views,humans,machines_bot,.*,status_codes_s2xx,.*,latency_p50,.*,web_vitals_inp_poor$/);
    assert.match(first, /^2026-01-05T00:00:00.000Z,2,2,0,/);
    assert.equal(first.split(',').length, header.split(',').length);
    assert.match(second, /^2026-01-05T01:00:00.000Z,0,0,/);
    assert.equal(end, '');
  });
});

/** Every write of the row of this host fails as on a full disk, after those of other hosts. */
const FULL = `CREATE TRIGGER full BEFORE INSERT ON hours WHEN NEW.host = (SELECT id FROM hosts WHERE name = 'h200.test')
  BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`;
const NOT_FULL = 'DROP TRIGGER full';

describe('history and its file', () => {
  it('renames a file that is not a database and begins a new one', () => {
    using setup = new Setup();
    writeFileSync(setup.path, 'not a database, but long enough to be looked at'.repeat(200));
    const keeper = setup.keeper();
    keeper.add([visits('a.test', [1])]);
    keeper.save();
    assert.equal(ask(keeper, 'a.test', {}).totals.views, 1);
    assert.deepEqual(setup.messages, ['the history was damaged: its file was renamed, and a new one begins']);
    assert.ok(readdirSync(join(setup.folder, 'state')).some((name) => name.startsWith('analytics.db.damaged-')));
  });

  it('renames a file whose pages are overwritten while it is used, and loses nothing that is still in memory', () => {
    using setup = new Setup();
    const keeper = setup.keeper();
    keeper.add(Array.from({ length: 2_000 }, (_, at) => visits(`h${at}.test`, [at])));
    keeper.close();
    writeFileSync(setup.path, Buffer.alloc(statSync(setup.path).size - 4_096, 0xee), { flag: 'r+' });
    const again = setup.keeper();
    again.add([visits('a.test', [1])]);
    again.save();
    again.save();
    assert.equal(ask(again, 'a.test', {}).totals.views, 1);
  });

  it('leaves out a row that is damaged, says so, and keeps the others', () => {
    using setup = new Setup();
    const keeper = setup.keeper();
    keeper.add([visits('a.test', [1]), visits('b.test', [2])]);
    keeper.close();
    const database = new DatabaseSync(setup.path);
    database.exec("UPDATE hours SET data = x'00112233' WHERE host = (SELECT id FROM hosts WHERE name = 'a.test')");
    database.close();
    const again = setup.keeper();
    assert.deepEqual([ask(again, 'a.test', {}).totals.views, ask(again, 'b.test', {}).totals.views], [0, 1]);
    again.add([visits('a.test', [3])]);
    again.save();
    assert.equal(ask(again, 'a.test', {}).totals.views, 1);
    assert.ok(setup.messages.includes('damaged rows of the history were skipped'));
  });

  it('waits in memory while the file can’t be written, warns once, and is saved when it can', () => {
    using setup = new Setup();
    rmSync(join(setup.folder, 'state'), { recursive: true });
    const keeper = setup.keeper();
    keeper.add([visits('a.test', [1])]);
    keeper.save();
    keeper.save();
    assert.equal(setup.messages.length, 1);
    const range = parseRange(new Map(), START);
    assert.ok(range.ok);
    assert.equal(keeper.answer('a.test', range.value, 'json').kind, 'unavailable');
    mkdirSync(join(setup.folder, 'state'));
    keeper.add([visits('a.test', [2])]);
    keeper.save();
    assert.equal(ask(keeper, 'a.test', {}).totals.views, 2);
    assert.equal(setup.messages.at(-1), 'the history can be saved again');
  });

  it('keeps at most 50,000 rows in memory while nothing can be saved, says what is lost, and saves those once it can', () => {
    using setup = new Setup();
    rmSync(join(setup.folder, 'state'), { recursive: true });
    const keeper = setup.keeper();
    keeper.add(Array.from({ length: 60_000 }, (_, at) => domainReport(`h${at}.test`)));
    keeper.save();
    const lost = setup.log.lines.find(({ message }) => message.startsWith('too much history waits for the disk'));
    assert.equal((lost?.fields as { dropped?: number } | undefined)?.dropped, 10_001);
    mkdirSync(join(setup.folder, 'state'));
    keeper.save();
    assert.equal(ask(keeper, ALL_HOSTS, {}).totals.views, 60_000);
    assert.equal(ask(keeper, 'h49998.test', {}).totals.views, 1);
    const range = parseRange(new Map(), START);
    assert.ok(range.ok);
    assert.equal(keeper.answer('h49999.test', range.value, 'json').kind, 'unknown');
  });

  it('adds no rows while waiting ones take too much memory, and goes on counting in existing ones', () => {
    const recent = new Recent({ rows: 50_000, bytes: 10_000_000 });
    const names = Array.from({ length: 128 }, (_, at): [string, number] => [`/${at}`, 1]);
    const lists = { ...EMPTY_AUDIENCE.lists, pages: names, entry_pages: names, referrers: names, countries: names };
    const seen = audience({ visitors: someHashes(1, 200), lists });
    const count = (at: number): void => recent.add(domainReport(`h${at}.test`, { audience: seen }), START);
    const retry = (): void => {
      for (const [hour, hosts] of recent.drain()) recent.putBack(hour, hosts);
    };
    let hosts = 0;
    for (; recent.dropped === 0; hosts++) {
      count(hosts);
      if (hosts % 20 === 0) retry();
    }
    const bytes = [...recent.all()].reduce((total, [, , period]) => total + period.memory, 0);
    assert.ok(bytes >= 10_000_000 && bytes < 12_000_000, `${bytes} bytes in ${hosts} rows`);
    count(0);
    assert.equal([...recent.all()].find(([, host]) => host === 'h0.test')?.[2].views, 2);
  });

  it('saves each count once after a disk was full in the middle of a transaction', () => {
    using setup = new Setup();
    const keeper = setup.keeper();
    const hosts = Array.from({ length: 300 }, (_, at) => `h${at}.test`);
    const count = (): void => keeper.add(hosts.map((host, at) => visits(host, someHashes(at, 20))));
    count();
    keeper.save();
    const limit = new DatabaseSync(setup.path);
    limit.exec(FULL);
    count();
    keeper.save();
    assert.match(keeper.failure ?? '', /full/);
    assert.equal(ask(keeper, 'h0.test', {}).totals.views, 40, 'what waits is answered, too');
    limit.exec(NOT_FULL);
    limit.close();
    keeper.save();
    assert.equal(keeper.failure, null);
    for (const host of hosts) assert.equal(ask(keeper, host, {}).totals.views, 40, host);
    assert.equal(ask(keeper, ALL_HOSTS, {}).totals.views, 40 * hosts.length);
  });
});
