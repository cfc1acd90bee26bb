import type { DomainReport } from '../../traffic/protocol.ts';
import { Distinct } from '../sketches/distinct.ts';
import { OWN_ROUTES } from './history-file.ts';
import { ANSWERED_VISITORS, KEPT_VISITORS, Period } from './period.ts';
import { ALL_HOSTS, type Counted, HOUR } from './store.ts';

/** How much may wait for the file before no more is added: rows, hosts and hours together, and their approximate memory (bytes). */
export type RecentLimits = { readonly rows: number; readonly bytes: number };
const WAITING: RecentLimits = { rows: 50_000, bytes: 268_435_456 };
/** The maximum number of hosts of one wildcard route with rows of their own in one hour; the others share the row of the pattern. */
export const MAX_HOSTS_PER_PATTERN = 1_000;

const MINUTE = 60_000;
const NOW_MINUTES = 5;

/** Counts that are not in the file yet, and the visitors of the last five minutes. */
export class Recent {
  private readonly limits: RecentLimits;
  /** By hour, then by host. */
  private waiting = new Map<number, Map<string, Counted>>();
  private rows = 0;
  /** The size of the rows that could not be saved. */
  private bytes = 0;
  private readonly hostsOfPatterns = new Map<string, Set<string>>();
  private hour = 0;
  private readonly minutes = new Map<number, Map<string, Distinct>>();
  /** Reports dropped for lack of room since the last check. */
  dropped = 0;

  constructor(limits = WAITING) {
    this.limits = limits;
  }

  /** `now` in ms since 1970. */
  add(report: DomainReport, now: number): void {
    const hour = Math.floor(now / HOUR) * HOUR;
    if (hour !== this.hour) this.hostsOfPatterns.clear();
    this.hour = hour;
    for (const host of [this.rowFor(report), ALL_HOSTS]) {
      this.noteVisitors(host, report.audience.visitors, now);
      const period = this.periodOf(host, hour, host === ALL_HOSTS || host === report.pattern ? OWN_ROUTES : report.pattern);
      if (period === null) this.dropped++;
      else period.add(report);
    }
  }

  /** The counts that are not in the file yet. */
  *all(): Generator<readonly [hour: number, host: string, period: Period]> {
    for (const [hour, hosts] of this.waiting) for (const [host, { period }] of hosts) yield [hour, host, period];
  }

  /** Hands over everything that waits, by hour; counts that could not be saved are returned with `putBack`. */
  drain(): Map<number, Map<string, Counted>> {
    const { waiting } = this;
    this.waiting = new Map();
    this.rows = 0;
    this.bytes = 0;
    return waiting;
  }

  putBack(hour: number, hosts: Map<string, Counted>): void {
    this.waiting.set(hour, hosts);
    this.rows += hosts.size;
    for (const { period } of hosts.values()) this.bytes += period.memory;
  }

  forget(host: string): void {
    for (const hosts of this.waiting.values()) if (hosts.delete(host)) this.rows--;
    for (const hosts of this.minutes.values()) hosts.delete(host);
  }

  has(host: string): boolean {
    return [...this.waiting.values()].some((hosts) => hosts.has(host));
  }

  /** People in the last five minutes. */
  visitorsNow(host: string, now: number): number {
    const union = new Distinct(ANSWERED_VISITORS);
    for (const [minute, hosts] of this.minutes) {
      const visitors = hosts.get(host);
      if (visitors !== undefined && isNow(minute, now)) union.merge(visitors);
    }
    return union.count;
  }

  private rowFor({ host, pattern }: DomainReport): string {
    if (host === pattern) return host;
    const hosts = this.hostsOfPatterns.get(pattern) ?? new Set();
    this.hostsOfPatterns.set(pattern, hosts);
    if (hosts.size >= MAX_HOSTS_PER_PATTERN && !hosts.has(host)) return pattern;
    hosts.add(host);
    return host;
  }

  private periodOf(host: string, hour: number, group: string): Period | null {
    const hosts = this.waiting.get(hour) ?? new Map<string, Counted>();
    this.waiting.set(hour, hosts);
    const known = hosts.get(host);
    if (known !== undefined) return known.period;
    if (this.rows >= this.limits.rows || this.bytes >= this.limits.bytes) return null;
    const period = new Period();
    hosts.set(host, { group, period });
    this.rows++;
    return period;
  }

  private noteVisitors(host: string, hashes: readonly number[], now: number): void {
    if (hashes.length === 0) return;
    const minute = Math.floor(now / MINUTE) * MINUTE;
    for (const other of this.minutes.keys()) if (Math.abs(minute - other) > NOW_MINUTES * MINUTE) this.minutes.delete(other);
    const hosts = this.minutes.get(minute) ?? new Map<string, Distinct>();
    this.minutes.set(minute, hosts);
    const visitors = hosts.get(host) ?? new Distinct(KEPT_VISITORS);
    hosts.set(host, visitors);
    for (const hash of hashes) visitors.add(hash);
  }
}

/**
 * Whether a minute is one of the last ones, or the next one, in case the clock was set back a little. A clock that is set back by hours
 * leaves minutes in the future.
 */
const isNow = (minute: number, now: number): boolean => minute > now - (NOW_MINUTES + 1) * MINUTE && minute <= now + MINUTE;
