import { bucketOf } from '../../../shared/log-buckets.ts';
import type { Vital } from '../../traffic/protocol.ts';
import { LogHistogram } from '../sketches/log-histogram.ts';

/** Up to `good` a page feels good, above `poor` it does not (Core Web Vitals). `scale` puts the values into the range of the buckets. */
const BOUNDS: Readonly<Record<Vital, { readonly good: number; readonly poor: number; readonly scale: number }>> = {
  lcp: { good: 2_500, poor: 4_000, scale: 1 },
  cls: { good: 0.1, poor: 0.25, scale: 1_000 },
  inp: { good: 200, poor: 500, scale: 1 },
};

/** The measurements of one metric in a period. The three ratings are exact, quantiles at most 2 % off. */
export class VitalCounts {
  readonly vital: Vital;
  readonly histogram = new LogHistogram();
  good = 0;
  needsImprovement = 0;
  poor = 0;

  constructor(vital: Vital) {
    this.vital = vital;
  }

  add(value: number): void {
    const { good, poor, scale } = BOUNDS[this.vital];
    if (value <= good) this.good++;
    else if (value <= poor) this.needsImprovement++;
    else this.poor++;
    this.histogram.add(bucketOf(value * scale));
  }

  merge(other: VitalCounts): void {
    this.good += other.good;
    this.needsImprovement += other.needsImprovement;
    this.poor += other.poor;
    this.histogram.merge(other.histogram);
  }

  quantile(share: number): number {
    return this.histogram.quantile(share) / BOUNDS[this.vital].scale;
  }
}
