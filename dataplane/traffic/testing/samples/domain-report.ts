import { bucketOf } from '../../../../shared/log-buckets.ts';
import { type Audience, type DomainReport, DURATION_BOUNDS } from '../../protocol.ts';
import { AudienceCounts } from '../../record/audience.ts';

export const EMPTY_AUDIENCE: Audience = new AudienceCounts().report();

/** A worker's report about one request to `host`, answered with 200 and 100 bytes; `more` overrides its members. */
export const domainReport = (host: string, more: Partial<DomainReport> = {}): DomainReport => ({
  host,
  pattern: host,
  requests: 1,
  classes: [0, 1, 0, 0, 0, 0],
  bytes: 100,
  durations: [1, ...DURATION_BOUNDS.map(() => 0)],
  durationSum: 0.0005,
  latency: [[bucketOf(0.5), 1]],
  audience: EMPTY_AUDIENCE,
  visitors: [],
  pages: [],
  referrers: [],
  countries: [],
  vitals: [],
  beacons: [],
  failures: [],
  ...more,
});
