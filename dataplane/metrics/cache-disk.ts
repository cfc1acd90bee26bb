import { Counter, Gauge, type Registry } from 'prom-client';
import { METRIC_PREFIX } from '../../shared/name.ts';

/** What the files of the cache hold, in bytes and responses; and since the start: what was read, written, not written, and found damaged. */
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
  ['bytes', 'Bytes of the disk that stored responses take.', (reading) => reading.bytes],
  ['max_bytes', 'Bytes of the disk that they may take.', (reading) => reading.size],
  ['entries', 'Stored responses on disk.', (reading) => reading.entries],
  ['available', 'Whether responses can be written to disk.', (reading) => (reading.failure === null ? 1 : 0)],
] as const satisfies readonly (readonly [string, string, (reading: CacheDiskReading) => number])[];

const COUNTERS = [
  ['hits_total', 'Requests of workers for a URL that was not in memory, but on disk.', (reading) => reading.hits],
  ['writes_total', 'Responses that were written to disk.', (reading) => reading.written],
  ['writes_dropped_total', 'Responses that were not written because the disk was too slow or failed.', (reading) => reading.dropped],
  ['damaged_total', 'Files that were deleted because they were not what had been written.', (reading) => reading.damaged],
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
