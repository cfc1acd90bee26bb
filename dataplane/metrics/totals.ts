import { MAX_DOMAIN_LABELS, OVERFLOW_LABEL } from '../../shared/domain-labels.ts';
import { type DomainReport, DURATION_BOUNDS } from '../traffic/protocol.ts';

export const STATUS_CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx', 'other'] as const;

/** Totals of one label value since the process started. */
export type Totals = {
  readonly classes: number[];
  bytes: number;
  /** Requests per bucket of DURATION_BOUNDS, not cumulative, plus one for longer durations. */
  readonly durations: number[];
  /** Seconds. */
  durationSum: number;
  /** By failure code. */
  readonly failures: Map<string, number>;
  /** By how the cache handled them. */
  readonly cache: Map<string, number>;
  cacheBytes: number;
  /** Copies for mirrors, by what became of them. */
  readonly mirrored: Map<string, number>;
  /** TLS connections that were passed through, by what became of them, and their bytes. */
  readonly passed: Map<string, number>;
  passedReceived: number;
  passedSent: number;
};

export const emptyTotals = (): Totals => ({
  classes: STATUS_CLASSES.map(() => 0),
  bytes: 0,
  durations: new Array<number>(DURATION_BOUNDS.length + 1).fill(0),
  durationSum: 0,
  failures: new Map(),
  cache: new Map(),
  cacheBytes: 0,
  mirrored: new Map(),
  passed: new Map(),
  passedReceived: 0,
  passedSent: 0,
});

/** Adds a report to the totals. */
export function addReport(totals: Totals, report: DomainReport): void {
  addEach(totals.classes, report.classes);
  addEach(totals.durations, report.durations);
  totals.bytes += report.bytes;
  totals.durationSum += report.durationSum;
  for (const [code, count] of report.failures) totals.failures.set(code, (totals.failures.get(code) ?? 0) + count);
  for (const [result, count] of report.cache ?? []) totals.cache.set(result, (totals.cache.get(result) ?? 0) + count);
  totals.cacheBytes += report.cacheBytes ?? 0;
  for (const [result, count] of report.passed?.results ?? []) totals.passed.set(result, (totals.passed.get(result) ?? 0) + count);
  totals.passedReceived += report.passed?.received ?? 0;
  totals.passedSent += report.passed?.sent ?? 0;
  for (const [result, count] of report.mirrored ?? []) totals.mirrored.set(result, (totals.mirrored.get(result) ?? 0) + count);
}

function addEach(into: number[], counts: readonly number[]): void {
  for (const [index, count] of counts.entries()) into[index] = (into[index] ?? 0) + count;
}

/** Totals by route pattern, never by the client's Host, and bounded in number. */
export class TotalsByDomain {
  private readonly totals = new Map<string, Totals>();

  record(report: DomainReport): void {
    addReport(this.of(report.pattern), report);
  }

  entries(): IterableIterator<[string, Totals]> {
    return this.totals.entries();
  }

  private of(pattern: string): Totals {
    const known = this.totals.get(pattern);
    if (known !== undefined) return known;
    const label = this.totals.size < MAX_DOMAIN_LABELS ? pattern : OVERFLOW_LABEL;
    const totals = this.totals.get(label) ?? emptyTotals();
    this.totals.set(label, totals);
    return totals;
  }
}
