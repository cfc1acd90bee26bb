import { Counter, Gauge, type Registry } from 'prom-client';
import { METRIC_PREFIX } from '../../shared/name.ts';

/** The size of the cache on disk in bytes and responses, and how many were read, written, dropped and found damaged since the start. */
export type CacheDiskReading = {
  readonly size: number;
  readonly bytes: number;
  readonly entries: number;
  readonly hits: number;
  readonly written: number;
  readonly dropped: number;
  readonly damaged: number;
  /** Why nothing is written now; null if it is. */
  readonly failure: string | null;
};

const GAUGES = [
  ['bytes', 'Disk space that stored responses take, in bytes.', (reading) => reading.bytes],
  ['max_bytes', 'Disk space that stored responses may take, in bytes.', (reading) => reading.size],
  ['entries', 'Stored responses on disk.', (reading) => reading.entries],
  ['available', 'Whether responses can be written to disk.', (reading) => (reading.failure === null ? 1 : 0)],
] as const satisfies readonly (readonly [string, string, (reading: CacheDiskReading) => number])[];

const COUNTERS = [
  ['hits_total', 'Lookups of a URL that was not in memory but on disk.', (reading) => reading.hits],
  ['writes_total', 'Responses that were written to disk.', (reading) => reading.written],
  ['writes_dropped_total', 'Responses that were not written because the disk was too slow or failed.', (reading) => reading.dropped],
  ['damaged_total', 'Files that were deleted because they were damaged.', (reading) => reading.damaged],
] as const satisfies readonly (readonly [string, string, (reading: CacheDiskReading) => number])[];

/** Absent if nothing is kept on disk. */
export function registerCacheDisk(registry: Registry): (reading: CacheDiskReading | null) => void {
  const options = (name: string, help: string) => ({ name: `${METRIC_PREFIX}cache_disk_${name}`, help, registers: [registry] });
  const gauges = GAUGES.map(([name, help, read]) => ({ metric: new Gauge(options(name, help)), read }));
  const counters = COUNTERS.map(([name, help, read]) => ({ metric: new Counter(options(name, help)), read }));
  for (const { metric } of [...gauges, ...counters]) metric.remove();
  return (reading) => {
    if (reading === null) return;
    for (const { metric, read } of gauges) metric.set(read(reading));
    for (const { metric, read } of counters) {
      metric.reset();
      metric.inc(read(reading));
    }
  };
}
