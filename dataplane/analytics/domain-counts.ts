import type { AnalyticsSnapshot } from '../../shared/wire/analytics.ts';
import type { HostNow } from '../../shared/wire/dashboard.ts';
import type { BeaconOutcome, DomainReport } from '../traffic/protocol.ts';
import { CacheUsed } from './cache-use.ts';
import { Distinct, SINCE_START } from './sketches/distinct.ts';
import { SpaceSaving } from './sketches/space-saving.ts';
import { SlidingCount } from './sliding-count.ts';
import { Vitals } from './vitals.ts';

/** How many names are tracked for each top list, and how many are returned. */
const FOLLOWED = 128;
const ANSWERED = 10;
/** The index of 5xx among the classes of a report. */
export const SERVER_ERRORS = 4;
const MINUTE_MS = 60_000;
/** The approximate memory of counters that have counted nothing yet (bytes). */
const EMPTY_BYTES = 3_200;
/**
 * A domain is failing if at least this many requests of the last minutes, and more than this share of them, were answered with 5xx, the
 * latest in this minute or the one before.
 */
const FAILING = { minutes: 5, least: 5, share: 0.05, last: 2 } as const;

/** Requests to a domain within the last five minutes, and those of them that were answered with 5xx. */
export type Failing = { readonly requests: number; readonly failed: number };

/** Counters of one domain's traffic since the process started. */
export class DomainCounts {
  private readonly minute = new SlidingCount(60, 1_000);
  private readonly hour = new SlidingCount(60, MINUTE_MS);
  /** Requests that were answered with 5xx in the last minutes; null before the first one. */
  private failed: SlidingCount | null = null;
  private readonly visitors = new Distinct(SINCE_START);
  private readonly pages = new SpaceSaving(FOLLOWED);
  private readonly referrers = new SpaceSaving(FOLLOWED);
  private readonly countries = new SpaceSaving(FOLLOWED);
  private readonly vitals = new Vitals();
  private readonly beacons = new Map<BeaconOutcome, number>();
  private readonly classes: [number, number, number, number, number, number] = [0, 0, 0, 0, 0, 0];
  private bytes = 0;
  /** null if the cache has handled no request. */
  private cache: CacheUsed | null = null;

  /** `now` is in ms of a monotonic clock. */
  add(report: DomainReport, now: number): void {
    this.minute.add(report.requests, now);
    this.hour.add(report.requests, now);
    for (const hash of report.visitors) this.visitors.add(hash);
    for (const [path, views] of report.pages) this.pages.add(path, views);
    for (const [host, count] of report.referrers) this.referrers.add(host, count);
    for (const [country, count] of report.countries) this.countries.add(country, count);
    for (const observation of report.vitals) this.vitals.add(observation);
    this.addBeacons(report.beacons);
    this.addTotals(report.classes, report.bytes);
    const failed = report.classes[SERVER_ERRORS];
    if (failed > 0) {
      this.failed ??= new SlidingCount(FAILING.minutes, MINUTE_MS);
      this.failed.add(failed, now);
    }
    if (report.cache === undefined) return;
    this.cache ??= new CacheUsed();
    this.cache.add(report.cache, now);
  }

  /** Moves the counts of `other` into this one; `other` must not be used afterwards. */
  absorb(other: DomainCounts, now: number): void {
    this.minute.merge(other.minute, now);
    this.hour.merge(other.hour, now);
    this.visitors.merge(other.visitors);
    this.pages.merge(other.pages);
    this.referrers.merge(other.referrers);
    this.countries.merge(other.countries);
    this.vitals.merge(other.vitals);
    this.addBeacons(other.beacons);
    this.addTotals(other.classes, other.bytes);
    if (this.failed === null) this.failed = other.failed;
    else if (other.failed !== null) this.failed.merge(other.failed, now);
    if (this.cache === null) this.cache = other.cache;
    else if (other.cache !== null) this.cache.merge(other.cache, now);
  }

  /** `taken` is in ms since 1970. */
  snapshot(domain: string, now: number, taken: number): AnalyticsSnapshot {
    const [s1xx, s2xx, s3xx, s4xx, s5xx, other] = this.classes;
    return {
      domain,
      page_views_1m: this.minute.total(now),
      page_views_60m: this.hour.total(now),
      unique_visitors: this.visitors.count,
      top_pages: this.pages.top(ANSWERED).map(([path, views]) => ({ path, views })),
      referrers: this.referrers.top(ANSWERED).map(([host, count]) => ({ domain: host, count })),
      countries: this.countries.top(ANSWERED).map(([country, count]) => ({ country, count })),
      status_codes: { s1xx, s2xx, s3xx, s4xx, s5xx, other },
      bytes_sent: this.bytes,
      web_vitals: this.vitals.read(),
      timestamp: new Date(taken).toISOString(),
    };
  }

  /** Requests of the last hour. `now` is in ms of a monotonic clock. */
  lastHour(now: number): number {
    return this.hour.total(now);
  }

  /** null if few requests have failed. `now` is in ms of a monotonic clock. */
  failing(now: number): Failing | null {
    const failed = this.failed?.total(now) ?? 0;
    if (failed < FAILING.least || this.failed?.recent(FAILING.last, now) === 0) return null;
    const requests = this.hour.recent(FAILING.minutes, now);
    return failed > requests * FAILING.share ? { requests, failed } : null;
  }

  /** The counts that an overview of many hosts needs. */
  current(domain: string, now: number): HostNow {
    return {
      domain,
      page_views_1m: this.minute.total(now),
      page_views_60m: this.hour.total(now),
      unique_visitors: this.visitors.count,
      requests: this.classes.reduce((sum, count) => sum + count),
      errors: this.classes[SERVER_ERRORS],
      ...(this.cache !== null && { cache: this.cache.read(now) }),
    };
  }

  /** @returns whether anything was pending. */
  aggregate(): boolean {
    return this.vitals.flush();
  }

  /** Their approximate size in memory (bytes). */
  get memory(): number {
    const { visitors, pages, referrers, countries, vitals } = this;
    return EMPTY_BYTES + visitors.bytes + pages.bytes + referrers.bytes + countries.bytes + vitals.bytes;
  }

  /** Pages so far, by whether the script that measures them was inserted, or why not. */
  get measured(): ReadonlyMap<BeaconOutcome, number> {
    return this.beacons;
  }

  private addBeacons(beacons: Iterable<readonly [BeaconOutcome, number]>): void {
    for (const [outcome, count] of beacons) this.beacons.set(outcome, (this.beacons.get(outcome) ?? 0) + count);
  }

  private addTotals(classes: DomainReport['classes'], bytes: number): void {
    for (const [index, count] of classes.entries()) this.classes[index] = (this.classes[index] ?? 0) + count;
    this.bytes += bytes;
  }
}
