import type { CacheUse } from '../../shared/wire/dashboard.ts';
import type { DomainReport } from '../traffic/protocol.ts';
import { SlidingCount } from './sliding-count.ts';

/** Answered with a stored response, even if it was validated before. */
const HITS: ReadonlySet<string> = new Set(['hit', 'stale', 'revalidated']);

/** The share of the requests that the cache handled in the last hour for which it had a response. Times are in ms of a monotonic clock. */
export class CacheUsed {
  private readonly requests = new SlidingCount(60, 60_000);
  private readonly hits = new SlidingCount(60, 60_000);

  add(results: NonNullable<DomainReport['cache']>, now: number): void {
    for (const [result, count] of results) {
      this.requests.add(count, now);
      if (HITS.has(result)) this.hits.add(count, now);
    }
  }

  merge(other: CacheUsed, now: number): void {
    this.requests.merge(other.requests, now);
    this.hits.merge(other.hits, now);
  }

  read(now: number): CacheUse {
    return { requests_60m: this.requests.total(now), hits_60m: this.hits.total(now) };
  }
}
