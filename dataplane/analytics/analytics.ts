import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../shared/runtime/clock.ts';
import { inTurns } from '../../shared/runtime/turns.ts';
import type { AnalyticsSnapshot } from '../../shared/wire/analytics.ts';
import type { HostNow } from '../../shared/wire/dashboard.ts';
import { type BeaconOutcome, type DomainReport, type TrafficReport, UNROUTED } from '../traffic/protocol.ts';
import { Busiest } from './busiest.ts';
import { DomainCounts, type Failing } from './domain-counts.ts';
import { WildcardHosts, type WildcardLimits } from './wildcard-hosts.ts';

/** The maximum number of hosts with their own snapshot under one wildcard route. */
export const MAX_HOSTS_PER_PATTERN = 1_000;
/** The approximate memory that those of all wildcard routes may take together (bytes): a thousand hosts of any size. */
const MAX_BYTES_OF_PATTERNS = 134_217_728;

/** How many hosts are examined in one turn of the event loop. */
const PER_TURN = 1_000;

/** Aggregated counters of all workers. */
export interface Analytics {
  record(report: TrafficReport): void;
  /** Snapshots of all domains that have had traffic, sorted by name. Each is created when it is read, since there may be thousands. */
  snapshots(): Iterable<AnalyticsSnapshot>;
  /** `host` in lower case. */
  snapshot(host: string): AnalyticsSnapshot | undefined;
  /** The busiest hosts of the last hour, busiest first, and how many hosts there are, computed in several turns of the event loop. */
  busiest(limit: number): Promise<{ readonly hosts: HostNow[]; readonly count: number }>;
  /** Yields each host that currently answers many requests with 5xx, and null for each other host. */
  failing(): Iterable<FailingHost | null>;
  /** Pages of a host since the start, by whether the script that measures them was inserted, or why not. */
  pages(host: string): ReadonlyMap<BeaconOutcome, number>;
  /** Removes everything about a host. @returns whether there was anything. */
  forget(host: string): boolean;
  /** One aggregation cycle: digests pending observations, one domain per turn of the event loop. */
  aggregate(): Promise<void>;
}

/** `pattern`: the domain of its route. */
export type FailingHost = Failing & { readonly domain: string; readonly pattern: string };

type Entry = { readonly counts: DomainCounts; pattern: string };

const WILDCARD_LIMITS: WildcardLimits = { hosts: MAX_HOSTS_PER_PATTERN, bytes: MAX_BYTES_OF_PATTERNS };

export function createAnalytics({
  clock,
  limits = WILDCARD_LIMITS,
}: {
  readonly clock: Clock;
  readonly limits?: WildcardLimits;
}): Analytics {
  const domains = new Map<string, Entry>();
  const wildcardHosts = new WildcardHosts(limits);

  const entryOf = (host: string, pattern: string): Entry => {
    const known = domains.get(host);
    if (known !== undefined) return known;
    const entry = { counts: new DomainCounts(), pattern };
    domains.set(host, entry);
    return entry;
  };

  /** Marks a host as used. Merges the least recently used one into the pattern when there are too many. */
  const touch = (host: string, entry: Entry, pattern: string, now: number): void => {
    if (entry.pattern !== pattern) {
      wildcardHosts.remove(entry.pattern, host);
      entry.pattern = pattern;
    }
    if (host === pattern) return;
    wildcardHosts.use(pattern, host, entry.counts.memory);
    const idle = wildcardHosts.takeSurplus(pattern);
    if (idle !== undefined) fold(idle, pattern, now);
  };

  const fold = (host: string, pattern: string, now: number): void => {
    const folded = domains.get(host);
    domains.delete(host);
    if (folded !== undefined) entryOf(pattern, pattern).counts.absorb(folded.counts, now);
  };

  const addDomain = (report: DomainReport, now: number): void => {
    // Connections that are passed through belong to a route, but to no host.
    if (report.pattern === UNROUTED || report.host === UNROUTED) return;
    const entry = entryOf(report.host, report.pattern);
    entry.counts.add(report, now);
    touch(report.host, entry, report.pattern, now);
  };

  return {
    record: (report) => {
      const now = clock.monotonic();
      for (const domain of report.domains) addDomain(domain, now);
      for (const [pattern, host] of wildcardHosts.takeLargest()) fold(host, pattern, now);
    },
    *snapshots() {
      for (const host of [...domains.keys()].sort()) {
        const snapshot = snapshotOf(host);
        if (snapshot !== undefined) yield snapshot;
      }
    },
    snapshot: snapshotOf,
    busiest: async (limit) => {
      const now = clock.monotonic();
      const busiest = new Busiest<readonly [string, Entry]>(limit);
      await inTurns(domains, PER_TURN, (one) => busiest.add(one, one[1].counts.lastHour(now)));
      const hosts = busiest.list().map(([host, { counts, pattern }]) => ({
        ...counts.current(host, now),
        ...(pattern !== host && { pattern }),
      }));
      return { hosts, count: domains.size };
    },
    *failing() {
      const now = clock.monotonic();
      for (const [domain, { counts, pattern }] of domains) {
        const failing = counts.failing(now);
        yield failing && { domain, pattern, ...failing };
      }
    },
    forget: (host) => {
      wildcardHosts.remove(domains.get(host)?.pattern ?? '', host);
      return domains.delete(host);
    },
    pages: (host) => domains.get(host)?.counts.measured ?? new Map(),
    aggregate: async () => {
      for (const { counts } of [...domains.values()]) if (counts.aggregate()) await nextTurn();
    },
  };

  function snapshotOf(host: string): AnalyticsSnapshot | undefined {
    return domains.get(host)?.counts.snapshot(host, clock.monotonic(), clock.now());
  }
}
