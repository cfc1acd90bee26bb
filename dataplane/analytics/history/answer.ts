import type { Percentiles } from '../../../shared/wire/analytics.ts';
import type { History, HistoryCounts, HistoryPoint, HistoryRange, VitalHistory } from '../../../shared/wire/history.ts';
import { LIST_NAMES } from '../../traffic/protocol.ts';
import { ANSWERED_VISITORS, Period } from './period.ts';
import { pointsOf, type RangeQuery } from './range.ts';
import { ALL_HOSTS, DAY, HOUR, type HostSums, type Row } from './store.ts';
import type { VitalCounts } from './vital-counts.ts';

/** Entries of each list, and hosts of the overview. */
const LISTED = 100;
const HOSTS = 1_000;

/** The stores that history is read from. */
export type HistorySource = {
  rows(host: string, from: number, to: number): Iterable<Row>;
  /** The hosts with the most views, most first. */
  busiest(from: number, to: number, most: number): readonly HostSums[];
  /** The first moment for which anything is kept (ms since 1970); null if nothing is. */
  since(host: string, step: RangeQuery['step']): number | null;
};

/** Answers a question about one host, or about all of them together (`host` is ALL_HOSTS). */
export function historyOf(source: HistorySource, host: string, range: RangeQuery, now: number): History {
  const since = source.since(host, range.step);
  return {
    domain: host === ALL_HOSTS ? null : host,
    step: range.step === HOUR ? 'hour' : 'day',
    now,
    ...overRange(source, host, range),
    ...(host === ALL_HOSTS && { hosts: hostsOf(source, range) }),
    kept_since: since === null ? null : timeOf(since),
    previous: overRange(source, host, { ...range.previous, step: range.step }),
  };
}

function overRange(source: HistorySource, host: string, range: Omit<RangeQuery, 'previous'>): HistoryRange {
  const { from, to, step } = range;
  const points = Array.from({ length: pointsOf(range) }, () => new Period(ANSWERED_VISITORS));
  const whole = new Period(ANSWERED_VISITORS);
  for (const { at, span, period } of source.rows(host, from, to)) {
    // A UTC day may span two points of another time zone: it belongs to the one that contains its middle.
    const middle = span === DAY ? at + DAY / 2 : at;
    points[Math.min(Math.floor((middle - from) / step), points.length - 1)]?.mergeCounts(period);
    whole.merge(period);
  }
  return {
    from: timeOf(from),
    to: timeOf(to),
    totals: countsOf(whole),
    series: points.map((period, index): HistoryPoint => ({ at: timeOf(from + index * step), ...countsOf(period) })),
    lists: Object.fromEntries(LIST_NAMES.map((name) => [name, whole.top(name, LISTED).map(([entry, count]) => ({ name: entry, count }))])),
  };
}

const hostsOf = (source: HistorySource, { from, to }: RangeQuery): NonNullable<History['hosts']> =>
  source.busiest(from, to, HOSTS).map(({ host, views, humans, pageViews }) => ({ domain: host, views, humans, page_views: pageViews }));

function countsOf(period: Period): HistoryCounts {
  const { views, humans, machines, pageViews, visitors, bytes, classes, latency, vitals } = period;
  const [s1xx, s2xx, s3xx, s4xx, s5xx, other] = classes;
  return {
    views,
    humans,
    machines: { ...machines },
    page_views: pageViews,
    visitors,
    bytes,
    status_codes: { s1xx, s2xx, s3xx, s4xx, s5xx, other },
    latency: percentilesOf((share) => latency.quantile(share)),
    web_vitals: { lcp: vitalOf(vitals.lcp), cls: vitalOf(vitals.cls), inp: vitalOf(vitals.inp) },
  };
}

function vitalOf(counts: VitalCounts): VitalHistory {
  const { good, needsImprovement, poor, histogram } = counts;
  const percentiles = percentilesOf((share) => counts.quantile(share));
  return { ...percentiles, count: histogram.total, good, needs_improvement: needsImprovement, poor };
}

const percentilesOf = (quantile: (share: number) => number): Percentiles => ({
  p50: rounded(quantile(0.5)),
  p75: rounded(quantile(0.75)),
  p95: rounded(quantile(0.95)),
  p99: rounded(quantile(0.99)),
});

/** Four digits: more would suggest an accuracy that a bucket does not have. */
const rounded = (value: number): number => Number(value.toPrecision(4));

const timeOf = (at: number): string => new Date(at).toISOString();

/** The series as CSV (RFC 4180), one line per point. No value needs quoting. */
export function csvOf({ series }: HistoryRange): string {
  const lines = series.map((point) => flat(point));
  const names = flat({ at: '', ...countsOf(new Period()) }).map(([name]) => name);
  return [names, ...lines.map((line) => line.map(([, value]) => value))].map((line) => `${line.join(',')}\r\n`).join('');
}

/** `{a: {b: 1}}` as `a_b` and 1. */
const flat = (value: object, prefix = ''): [name: string, value: string][] =>
  Object.entries(value).flatMap(([name, member]): [string, string][] =>
    typeof member === 'object' ? flat(member, `${prefix}${name}_`) : [[`${prefix}${name}`, String(member)]],
  );
