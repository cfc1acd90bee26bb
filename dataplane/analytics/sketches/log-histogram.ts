import { valueIn } from '../../../shared/log-buckets.ts';

/** Counts of values in logarithmic buckets (`shared/log-buckets.ts`): exact counts, quantiles at most 2 % off, and merging is addition. */
export class LogHistogram {
  /** null while there are none: most histograms of a period stay empty. */
  private counts: Map<number, number> | null = null;
  total = 0;

  add(bucket: number, count = 1): void {
    this.counts ??= new Map();
    this.counts.set(bucket, (this.counts.get(bucket) ?? 0) + count);
    this.total += count;
  }

  /** How many buckets have a count. */
  get size(): number {
    return this.counts?.size ?? 0;
  }

  merge(other: LogHistogram): void {
    if (other.counts !== null) for (const [bucket, count] of other.counts) this.add(bucket, count);
  }

  /** The value below which this share of all values lies, `share` from 0 to 1; 0 while there are none. */
  quantile(share: number): number {
    let left = share * this.total;
    for (const [bucket, count] of this.entries()) {
      left -= count;
      if (left <= 0) return valueIn(bucket);
    }
    return 0;
  }

  /** Buckets with their counts, the lowest first. */
  entries(): [bucket: number, count: number][] {
    return this.counts === null ? [] : [...this.counts].sort(([a], [b]) => a - b);
  }
}
