import type { AnalyticsSnapshot, Percentiles } from '../../shared/wire/analytics.ts';
import { VITALS, type Vital, type VitalsObservation } from '../traffic/protocol.ts';
import { QuantileDigest } from './sketches/quantile-digest.ts';

const QUANTILES = [0.5, 0.75, 0.95, 0.99] as const;

/** The Web Vitals of one domain since the process started; empty until its first beacon. */
export class Vitals {
  private readonly digests = new Map<Vital, QuantileDigest>();

  add(observation: VitalsObservation): void {
    for (const metric of VITALS) {
      const value = observation[metric];
      if (value !== undefined) this.digestOf(metric).add(value);
    }
  }

  merge(other: Vitals): void {
    for (const [metric, digest] of other.digests) this.digestOf(metric).merge(digest);
  }

  /** Up to the last flush: the published interface reads without flushing. */
  read(): AnalyticsSnapshot['web_vitals'] {
    const percentiles = (metric: Vital): Percentiles => {
      const [p50 = 0, p75 = 0, p95 = 0, p99 = 0] = this.digests.get(metric)?.read() ?? [];
      return { p50, p75, p95, p99 };
    };
    return { lcp: percentiles('lcp'), cls: percentiles('cls'), inp: percentiles('inp') };
  }

  /** Its approximate size in memory. */
  get bytes(): number {
    let bytes = 0;
    for (const digest of this.digests.values()) bytes += digest.bytes;
    return bytes;
  }

  /** @returns whether anything was pending. */
  flush(): boolean {
    const pending = [...this.digests.values()].filter((digest) => digest.dirty);
    for (const digest of pending) digest.flush();
    return pending.length > 0;
  }

  private digestOf(metric: Vital): QuantileDigest {
    let digest = this.digests.get(metric);
    if (digest === undefined) {
      digest = new QuantileDigest(QUANTILES);
      this.digests.set(metric, digest);
    }
    return digest;
  }
}
