import type { Clock } from '../../shared/runtime/clock.ts';
import type { CacheUse, Traffic } from '../../shared/wire/dashboard.ts';
import type { DomainReport } from '../traffic/protocol.ts';
import { CacheUsed } from './cache-use.ts';
import { SERVER_ERRORS } from './domain-counts.ts';
import { SlidingCount } from './sliding-count.ts';

const SECONDS = 10;

/** The traffic of all hosts over the last ten seconds, rejected requests included. Workers report once a second. */
export class TrafficRate {
  private readonly clock: Clock;
  private readonly requests = new SlidingCount(SECONDS, 1_000);
  private readonly bytes = new SlidingCount(SECONDS, 1_000);
  private readonly errors = new SlidingCount(SECONDS, 1_000);
  private readonly cache = new CacheUsed();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  record({ domains }: { readonly domains: readonly Pick<DomainReport, 'requests' | 'bytes' | 'classes' | 'cache'>[] }): void {
    const now = this.clock.monotonic();
    let requests = 0;
    let bytes = 0;
    let errors = 0;
    for (const domain of domains) {
      requests += domain.requests;
      bytes += domain.bytes;
      errors += domain.classes[SERVER_ERRORS];
      if (domain.cache !== undefined) this.cache.add(domain.cache, now);
    }
    this.requests.add(requests, now);
    this.bytes.add(bytes, now);
    this.errors.add(errors, now);
  }

  /** Over the last hour. */
  cacheUse(): CacheUse {
    return this.cache.read(this.clock.monotonic());
  }

  read(): Omit<Traffic, 'open_requests'> {
    const now = this.clock.monotonic();
    const perSecond = (count: SlidingCount): number => count.total(now) / SECONDS;
    return { requests_per_sec: perSecond(this.requests), bytes_per_sec: perSecond(this.bytes), errors_per_sec: perSecond(this.errors) };
  }
}
