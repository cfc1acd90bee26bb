import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { OWN_PATH_PREFIX } from '../../shared/name.ts';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import type { AnalyticsSnapshot, Percentiles } from '../../shared/wire/analytics.ts';
import type { History, HistoryCounts, HistoryRange } from '../../shared/wire/history.ts';
import { openCountryDatabase } from '../analytics/country-database.ts';
import { HistoryKeeper } from '../analytics/history/keeper.ts';
import { DAY, HOUR } from '../analytics/history/store.ts';
import { Exchange, type Site } from '../traffic/exchange/exchange.ts';
import { Countries } from '../traffic/match/countries.ts';
import type { CountryDatabase } from '../traffic/protocol.ts';
import { Recorder } from '../traffic/record/recorder.ts';
import { sampleExchange } from '../traffic/testing/samples/sample-exchange.ts';
import { DAYS, HOSTS, hostName, monthOfVisits, type Visit } from './testing/month-of-visits.ts';
import { RunningAdmin } from './testing/running-admin.ts';

const SEED = Number(process.env.SLUICE_FUZZ_SEED ?? 1);
/** Hours are kept for ten days, so that most of the month has been rolled up into days. */
const HOURS_KEPT = 10 * DAY;
const PERCENTILES = { p50: 0.5, p75: 0.75, p95: 0.95, p99: 0.99 } as const;

/** The documented accuracy of figures: exact up to this many distinct names or visitors, and estimated beyond that. */
const HISTORY_BOUNDS = {
  visitors: { exact: 256, error: 1.04 / 2 ** 6 },
  lists: {
    ...{ pages: 128, entry_pages: 64, referrers: 64, countries: 64, browsers: 32, systems: 32, devices: 8 },
    ...{ utm_source: 32, utm_medium: 32, utm_campaign: 32 },
  },
  /** Merging two lists can be off by as much as either. */
  listError: 2,
};
const SNAPSHOT_BOUNDS = { visitors: { exact: 2_048, error: 1.04 / 2 ** 8 }, names: 128 };
/** Estimates of distinct visitors are about normally distributed: one in 1.7 million is off by more than five standard errors. */
const STANDARD_ERRORS = 5;
/** The width of a bucket; a value is reported with four digits. */
const QUANTILE_ERROR = 0.0205;

type ListName = keyof typeof HISTORY_BOUNDS.lists;
type Names = ReadonlyMap<string, number>;
type Span = { readonly from: number; readonly to: number; readonly step: typeof HOUR | typeof DAY };

const sampled = sampleExchange({ method: 'GET', target: '/', kept: '', length: 0, chunked: false });
const site = (domain: string): Site => ({
  domain,
  fields: { overrides: null, own: '', all: '', strictTransport: false, noSniff: false, sameOrigin: false, changes: null, deferred: null },
  errorPages: null,
  excluded: (_, path) => path.startsWith('/admin/'),
});
const SITES = new Map(Array.from({ length: HOSTS }, (_, at) => [hostName(at), site(hostName(at))]));

/** The measurements of the page that are kept: none if its report has the same mark (Sec-GPC, prefetch) as its request. */
const keptVitals = ({ machine, vitals }: Visit): Visit['vitals'] => (machine === 'gpc' || machine === 'prefetch' ? null : vitals);

/** The exchanges of a visit: its request, and the report of its page if there is one. */
function exchangesOf(visit: Visit, now: number): Exchange[] {
  const { host, address, campaign, path, from } = visit;
  const query = campaign === null ? '' : `?a=b&${new URLSearchParams(campaign)}`;
  const make = (method: string, target: string): Exchange => {
    const x = new Exchange({ ...sampled.client, address }, sampled.requestPath, {
      ...sampled,
      ...{ expectsContinue: false, upgrade: null, hops: 0, misdirected: false, trace: null },
      ...{ method, target, host, hostField: host, startedAt: now - visit.ms },
      referer: from === '' ? null : `https://${from}/somewhere?a=b`,
      userAgent: visit.userAgent,
      fetchDestination: visit.browser === null ? null : visit.page ? 'document' : 'script',
      privacyControl: visit.machine === 'gpc',
      prefetch: visit.machine === 'prefetch',
      bindsConnection: false,
    });
    [x.path = ''] = target.split('?');
    x.route = SITES.get(host) ?? null;
    return x;
  };
  const x = make(visit.method, path + query);
  x.status = visit.status;
  x.bytesSent = visit.bytes;
  x.contentType = visit.page ? 'text/html' : 'text/javascript';
  if (visit.vitals === null) return [x];
  const report = make('POST', `${OWN_PATH_PREFIX}vitals`);
  report.vitals = visit.vitals;
  return [x, report];
}

/** Two workers report their counts to the analytics and the history, as the main thread of the data plane passes them on. */
class Replay {
  readonly visits: Visit[] = [];
  private readonly workers: readonly Recorder[];
  private readonly api: RunningAdmin;
  private keeper: HistoryKeeper;

  private constructor(api: RunningAdmin, countries: CountryDatabase) {
    this.api = api;
    this.workers = [1, 2].map(() => new Recorder(Buffer.from('a key'), new Countries(countries, memoryLog())));
    this.keeper = this.open();
  }

  static async start(countries: CountryDatabase): Promise<Replay> {
    const history: Pick<HistoryKeeper, 'answer'>[] = [];
    const of = () => history[0] ?? assert.fail();
    const api = await RunningAdmin.start({
      history: { answer: async (...question) => of().answer(...question), forget: async () => assert.fail() },
    });
    const replay = new Replay(api, countries);
    history.push({ answer: (...question) => replay.keeper.answer(...question) });
    return replay;
  }

  get now(): number {
    return this.api.clock.now();
  }

  pass(ms: number): void {
    this.api.clock.pass(ms);
  }

  report(visits: readonly Visit[]): void {
    const now = this.api.clock.monotonic();
    for (const [at, visit] of visits.entries())
      for (const x of exchangesOf(visit, now)) (this.workers[at % this.workers.length] as Recorder).record(x, now);
    for (const worker of this.workers) {
      const last = worker.drain().next().value;
      this.api.analytics.record(last);
      this.keeper.add(last.domains);
    }
    this.visits.push(...visits);
  }

  save(): void {
    this.keeper.save();
    while (this.keeper.sweep());
  }

  restartHistory(): void {
    this.keeper.close();
    this.keeper = this.open();
  }

  aggregate(): Promise<void> {
    return this.api.analytics.aggregate();
  }

  async ask<T>(path: string): Promise<T> {
    return JSON.parse(await this.read(path));
  }

  async read(path: string): Promise<string> {
    const { status, text } = await this.api.request('GET', path, { socket: true });
    assert.equal(status, 200, `${path}: ${text}`);
    return text;
  }

  private open(): HistoryKeeper {
    const { clock, log, folder } = this.api;
    const retention = { hoursMs: HOURS_KEPT, daysMs: 400 * DAY, maxBytes: 2 ** 30 };
    return new HistoryKeeper({ path: join(folder, 'analytics.db'), retention, clock, log });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.keeper.close();
    await this.api[Symbol.asyncDispose]();
  }
}

const isPageView = ({ machine, page, method, status }: Visit): boolean =>
  machine === null && page && method === 'GET' && (status === 304 || (status >= 200 && status < 300));
const referrerOf = ({ from, host }: Visit): string => (from === host ? '' : from);
const classesOf = (visits: readonly Visit[]) => {
  const of = (digit: number) => visits.filter(({ status }) => status !== 499 && Math.floor(status / 100) === digit).length;
  return { s1xx: of(1), s2xx: of(2), s3xx: of(3), s4xx: of(4), s5xx: of(5), other: visits.filter(({ status }) => status === 499).length };
};
const sum = (values: Iterable<number>): number => [...values].reduce((total, value) => total + value, 0);
const distinct = (visits: readonly Visit[]): number => new Set(visits.map(({ address }) => address)).size;

function tally(names: Iterable<string | null | undefined>): Names {
  const counts = new Map<string, number>();
  for (const name of names) if (name) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

const sorted = (names: Names) => [...names].sort(([a, ofA], [b, ofB]) => ofB - ofA || (a < b ? -1 : 1));

function assertVisitors(found: number, truth: number, { exact, error }: { exact: number; error: number }, what: string): void {
  if (truth <= exact) assert.equal(found, truth, what);
  else assert.ok(Math.abs(found / truth - 1) <= STANDARD_ERRORS * error, `${what}: ${found} instead of ${truth}`);
}

/** @param slack how far a count may be off, as a share of all, if there are more names than are kept. */
function assertList(
  found: readonly (readonly [string, number])[],
  truth: Names,
  kept: number,
  slack: number,
  limit: number,
  what: string,
): void {
  if (truth.size <= kept) return assert.deepEqual(found, sorted(truth).slice(0, limit), what);
  const bound = slack * sum(truth.values());
  assert.equal(found.length, Math.min(limit, kept), what);
  for (const [name, count] of found)
    assert.ok(Math.abs(count - (truth.get(name) ?? 0)) <= bound, `${what}: ${name} ${count} of ${truth.get(name)}`);
  const least = found.at(-1)?.[1] ?? 0;
  const listed = new Set(found.map(([name]) => name));
  for (const [name, count] of truth) assert.ok(count <= least + 2 * bound || listed.has(name), `${what}: ${name} with ${count} is missing`);
}

/** Values are at most 2 % off; of the lowest bucket, up to `least`, 0 is answered. */
function assertQuantiles(found: Percentiles, values: readonly number[], least: number, what: string): void {
  const ordered = values.toSorted((a, b) => a - b);
  for (const [name, share] of Object.entries(PERCENTILES)) {
    const truth = ordered[Math.max(0, Math.ceil(share * ordered.length) - 1)] ?? 0;
    const value = found[name as keyof Percentiles];
    if (truth <= least) assert.equal(value, 0, `${what} ${name}`);
    else assert.ok(Math.abs(value / truth - 1) <= QUANTILE_ERROR, `${what} ${name}: ${value} instead of ${truth}`);
  }
}

const BOUNDS_OF_VITALS = { lcp: [2_500, 4_000, 0.1], cls: [0.1, 0.25, 0.0001], inp: [200, 500, 0.1] } as const;

function assertCounts(found: HistoryCounts, visits: readonly Visit[], what: string): void {
  const people = visits.filter(({ machine }) => machine === null);
  const machines = (reason: string) => visits.filter(({ machine }) => machine === reason).length;
  const { visitors, latency, web_vitals: vitals, views, humans, machines: found_machines, page_views, bytes, status_codes } = found;
  assert.deepEqual(
    { views, humans, machines: found_machines, page_views, bytes, status_codes },
    {
      views: visits.length,
      humans: people.length,
      machines: Object.fromEntries(['bot', 'monitor', 'prefetch', 'excluded', 'gpc'].map((reason) => [reason, machines(reason)])),
      page_views: visits.filter(isPageView).length,
      bytes: sum(visits.map((visit) => visit.bytes)),
      status_codes: classesOf(visits),
    },
    what,
  );
  assertVisitors(visitors, distinct(people), HISTORY_BOUNDS.visitors, `visitors ${what}`);
  assertQuantiles(
    latency,
    visits.map(({ ms }) => ms),
    0.1,
    `latency ${what}`,
  );
  for (const name of ['lcp', 'cls', 'inp'] as const) {
    const values = visits.flatMap((visit) => keptVitals(visit)?.[name] ?? []);
    const [good, poor, least] = BOUNDS_OF_VITALS[name];
    const { count, good: good_, needs_improvement, poor: poor_, ...percentiles } = vitals[name];
    assert.deepEqual(
      [count, good_, needs_improvement, poor_],
      [
        values.length,
        values.filter((value) => value <= good).length,
        values.filter((value) => value > good && value <= poor).length,
        values.filter((value) => value > poor).length,
      ],
      `${name} ${what}`,
    );
    assertQuantiles(percentiles, values, least, `${name} ${what}`);
  }
}

const listsOf = (visits: readonly Visit[], country: (address: string) => string): Record<ListName, Names> => {
  const views = visits.filter(isPageView);
  const [first, second, third] = [0, 1, 2].map((at) => tally(views.map(({ browser }) => browser?.listed[at]))) as [Names, Names, Names];
  return {
    pages: tally(views.map(({ path }) => path)),
    entry_pages: tally(views.map((visit) => referrerOf(visit) && visit.path)),
    referrers: tally(views.map(referrerOf)),
    countries: tally(views.map(({ address }) => country(address))),
    browsers: first,
    systems: second,
    devices: third,
    utm_source: tally(views.map(({ campaign }) => campaign?.utm_source)),
    utm_medium: tally(views.map(({ campaign }) => campaign?.utm_medium)),
    utm_campaign: tally(views.map(({ campaign }) => campaign?.utm_campaign)),
  };
};

/** Compares totals, series and lists. `placed` is when a visit counts: of days that were rolled up only the day is known. */
function assertRange(
  found: HistoryRange,
  { from, to, step }: Span,
  visits: readonly Visit[],
  { placed, country, what }: { placed: (at: number) => number; country: (address: string) => string; what: string },
): void {
  const inRange = visits.filter(({ at }) => placed(at) >= from && placed(at) < to);
  assert.deepEqual([Date.parse(found.from), Date.parse(found.to)], [from, to], what);
  assertCounts(found.totals, inRange, what);
  assert.equal(found.series.length, Math.ceil((to - from) / step), what);
  for (const [index, point] of found.series.entries()) {
    const begin = from + index * step;
    assert.equal(Date.parse(point.at), begin, what);
    assertCounts(
      point,
      inRange.filter(({ at }) => placed(at) >= begin && placed(at) < begin + step),
      `${what} at ${point.at}`,
    );
  }
  const lists = listsOf(inRange, country);
  assert.deepEqual(Object.keys(found.lists).toSorted(), Object.keys(lists).toSorted());
  for (const [name, truth] of Object.entries(lists) as [ListName, Names][]) {
    const kept = HISTORY_BOUNDS.lists[name];
    const list = (found.lists[name] ?? []).map((entry): [string, number] => [entry.name, entry.count]);
    assertList(list, truth, kept, HISTORY_BOUNDS.listError / kept, 100, `${name} ${what}`);
  }
}

function assertSnapshot(found: AnalyticsSnapshot, visits: readonly Visit[], now: number, country: (address: string) => string): void {
  const what = found.domain;
  const since = (ms: number) => visits.filter(({ at }) => at > now - ms).length;
  assert.deepEqual(
    [found.page_views_1m, found.page_views_60m, found.bytes_sent, found.status_codes, Date.parse(found.timestamp)],
    [since(60_000), since(HOUR), sum(visits.map(({ bytes }) => bytes)), classesOf(visits), now],
    what,
  );
  assertVisitors(found.unique_visitors, distinct(visits), SNAPSHOT_BOUNDS.visitors, `visitors ${what}`);
  for (const [list, truth, name] of [
    [found.top_pages.map(({ path, views }) => [path, views] as const), tally(visits.map(({ path }) => path)), 'pages'],
    [found.referrers.map(({ domain, count }) => [domain, count] as const), tally(visits.map(referrerOf)), 'referrers'],
    [found.countries.map((one) => [one.country, one.count] as const), tally(visits.map(({ address }) => country(address))), 'countries'],
  ] as const) {
    assertList(list, truth, SNAPSHOT_BOUNDS.names, 1 / SNAPSHOT_BOUNDS.names, 10, `${name} ${what}`);
    if (truth.size > SNAPSHOT_BOUNDS.names) for (const [entry, count] of list) assert.ok(count >= (truth.get(entry) ?? 0), 'never too low');
  }
  for (const metric of ['lcp', 'cls', 'inp'] as const)
    assertDigest(
      found.web_vitals[metric],
      visits.flatMap((visit) => keptVitals(visit)?.[metric] ?? []),
      `${metric} ${what}`,
    );
}

/** A centroid of the digest stands for at most 4 · 0.01 · q (1 − q) of all values: a quantile is off by at most four of them in rank. */
function assertDigest(found: Percentiles, values: readonly number[], what: string): void {
  const ordered = values.toSorted((a, b) => a - b);
  for (const [name, share] of Object.entries(PERCENTILES)) {
    const slack = 4 * (4 * 0.01 * share * (1 - share) * ordered.length + 1);
    const at = (rank: number) => ordered[Math.min(ordered.length - 1, Math.max(0, Math.round(rank)))] ?? 0;
    const [low, high] = [at(share * ordered.length - slack), at(share * ordered.length + slack)];
    const value = found[name as keyof Percentiles];
    assert.ok(value >= low - 1e-9 && value <= high + 1e-9, `${what} ${name}: ${value} is not from ${low} to ${high}`);
  }
}

const fromCsv = (text: string): Record<string, string>[] => {
  const [names = [], ...lines] = text.split('\r\n').map((line) => line.split(','));
  assert.deepEqual(lines.pop(), ['']);
  return lines.map((line) => Object.fromEntries(line.map((value, at) => [names[at], value])));
};
const flat = (value: object): Record<string, string> =>
  Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      typeof member === 'object' ? Object.entries(flat(member)).map(([inner, text]) => [`${name}_${inner}`, text]) : [[name, `${member}`]],
    ),
  );

const query = ({ from, to, step }: Span): string =>
  new URLSearchParams({
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    step: step === HOUR ? 'hour' : 'day',
  }).toString();

test('after a month of traffic to fifty hosts, every figure of the API equals a plain recount, within the stated errors', async (t) => {
  const database = openCountryDatabase(memoryLog());
  assert.ok(database !== null);
  const known = new Map<string, string>();
  const countries = new Countries(database, memoryLog());
  const country = (address: string): string => {
    const found = known.get(address) ?? countries.find(address);
    known.set(address, found);
    return found;
  };
  await using replay = await Replay.start(database);
  const start = Math.ceil(replay.now / DAY) * DAY;
  const end = start + DAYS * DAY;
  let group = 0;
  for (const visits of monthOfVisits(SEED, start)) {
    replay.pass((visits[0]?.at ?? assert.fail()) - replay.now);
    replay.report(visits);
    // Some hours are saved in parts.
    if (group % 10 === 0) replay.save();
    if (group % 1_000 === 999) replay.restartHistory();
    group++;
  }
  replay.save();
  await replay.aggregate();
  replay.pass(30_000);
  const { visits, now } = replay;
  t.diagnostic(`${visits.length} visits, SLUICE_FUZZ_SEED=${SEED}`);
  const byHost = Map.groupBy(visits, ({ host }) => host);

  const snapshots = await replay.ask<AnalyticsSnapshot[]>('/analytics');
  assert.deepEqual(
    snapshots.map(({ domain }) => domain),
    [...byHost.keys()].sort(),
  );
  for (const snapshot of snapshots) {
    assertSnapshot(snapshot, byHost.get(snapshot.domain) ?? [], now, country);
    assert.deepEqual(await replay.ask(`/analytics/${snapshot.domain}`), snapshot);
  }

  const hoursFrom = Math.floor((now - HOURS_KEPT) / DAY) * DAY;
  const placed = (at: number): number => (at < hoursFrom ? Math.floor(at / DAY) * DAY + DAY / 2 : at);
  const lastFive = (some: readonly Visit[]): number =>
    distinct(some.filter(({ at, machine }) => machine === null && at > now - 5 * 60_000));
  const spans: readonly Span[] = [
    { from: start, to: end, step: DAY },
    { from: end - DAY, to: end, step: HOUR },
    { from: end - 4 * DAY + 5 * HOUR, to: end - 3 * DAY - 2 * HOUR, step: HOUR },
    { from: end - 14 * DAY, to: end, step: DAY },
    // Days of a time zone in the west and of one in the east.
    { from: start + 8 * DAY + 5 * HOUR, to: start + 15 * DAY + 5 * HOUR, step: DAY },
    { from: start + 8 * DAY - 9 * HOUR, to: start + 15 * DAY - 9 * HOUR, step: DAY },
  ];
  for (const span of spans) {
    const length = Math.ceil((span.to - span.from) / span.step) * span.step;
    const before = { ...span, from: span.from - length, to: span.from };
    for (const host of [null, ...byHost.keys()]) {
      const path = host === null ? '/history' : `/analytics/${host}/history`;
      const some = host === null ? visits : (byHost.get(host) ?? []);
      const history = await replay.ask<History>(`${path}?${query(span)}`);
      const what = `${host ?? 'all hosts'} ${query(span)}`;
      assert.deepEqual([history.domain, history.step, history.now], [host, span.step === HOUR ? 'hour' : 'day', lastFive(some)], what);
      assertRange(history, span, some, { placed, country, what });
      assertRange(history.previous, before, some, { placed, country, what: `before ${what}` });
      if (host !== null) continue;
      assert.deepEqual(fromCsv(await replay.read(`${path}?${query(span)}&format=csv`)), history.series.map(flat), what);
      const hosts = [...byHost].flatMap(([domain, all]) => {
        const those = all.filter(({ at }) => placed(at) >= span.from && placed(at) < span.to);
        const humans = those.filter(({ machine }) => machine === null).length;
        return those.length === 0 ? [] : [{ domain, views: those.length, humans, page_views: those.filter(isPageView).length }];
      });
      assert.deepEqual(
        history.hosts,
        hosts.sort((a, b) => b.views - a.views || (a.domain < b.domain ? -1 : 1)),
        what,
      );
    }
  }
});
