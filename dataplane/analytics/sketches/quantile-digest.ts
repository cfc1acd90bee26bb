import tdigest from 'tdigest';

type Centroid = { readonly mean: number; readonly n: number };

/** The library's default: the largest share of all observations that a centroid in the middle may represent. */
const DELTA = 0.01;
/** Maximum number of pending observations. */
export const MAX_PENDING = 100;
/** The approximate memory of an empty digest, and of a pending value with its weight (bytes). */
const EMPTY_BYTES = 800;
const PENDING_BYTES = 24;

/**
 * Quantiles of a stream of values (t-digest: Dunning and Ertl, "Computing extremely accurate quantiles using t-digests",
 * 2019). The library's object takes 100 KB, so between two flushes only its centroids are kept: at most about 5 KB.
 */
export class QuantileDigest {
  /** Observations, or centroids of another digest, with the number of observations in each; and the sum of those. */
  private pending: number[] = [];
  private pendingWeights: number[] = [];
  private pendingTotal = 0;
  private means = new Float64Array(0);
  /** Whole numbers, as the library does not divide observations. */
  private weights = new Uint32Array(0);
  private values: readonly number[];
  private readonly quantiles: readonly number[];

  /** @param quantiles the quantiles that `read` returns, each 0 to 1. */
  constructor(quantiles: readonly number[]) {
    this.quantiles = quantiles;
    this.values = quantiles.map(() => 0);
  }

  /** Adds an observation. `read` includes it after the next flush, which the hundredth pending one triggers. */
  add(value: number): void {
    this.pend(value, 1);
    this.flushIfFull();
  }

  /** The value of each quantile as of the last flush; 0 without observations. */
  read(): readonly number[] {
    return this.values;
  }

  /** Whether observations wait for a flush. */
  get dirty(): boolean {
    return this.pending.length > 0;
  }

  /** Its approximate size in memory. */
  get bytes(): number {
    return EMPTY_BYTES + this.means.byteLength + this.weights.byteLength + this.pending.length * PENDING_BYTES;
  }

  /** Digests pending observations, which takes 1 ms at most on a current machine. */
  flush(): void {
    if (!this.dirty) return;
    const digest = new tdigest.TDigest(DELTA);
    for (const [at, mean] of this.means.entries()) digest.push_centroid({ mean, n: this.weights[at] as number });
    for (const [at, mean] of this.pending.entries()) digest.push_centroid({ mean, n: this.pendingWeights[at] as number });
    this.pending = [];
    this.pendingWeights = [];
    this.pendingTotal = 0;
    digest.compress();
    const centroids = digest.toArray();
    this.means = Float64Array.from(centroids, ({ mean }) => mean);
    this.weights = Uint32Array.from(centroids, ({ n }) => n);
    this.values = this.quantiles.map((quantile) => quantileOf(centroids, quantile));
  }

  /**
   * Merges the observations of `other`. If there are only a few, they wait for the next flush like any others, because merging thousands of
   * hosts must not cause a flush for each.
   */
  merge(other: QuantileDigest): void {
    for (const [at, mean] of other.means.entries()) this.pend(mean, other.weights[at] as number);
    for (const [at, mean] of other.pending.entries()) this.pend(mean, other.pendingWeights[at] as number);
    this.flushIfFull();
  }

  private pend(mean: number, weight: number): void {
    this.pending.push(mean);
    this.pendingWeights.push(weight);
    this.pendingTotal += weight;
  }

  private flushIfFull(): void {
    if (this.pendingTotal >= MAX_PENDING) this.flush();
  }
}

/**
 * The library interpolates between the middles of centroids. It also gathers equal observations in one centroid without a limit, so that of
 * ninety layout shifts of 0 and ten of 0.2 it would place the 75th percentile near 0.1. A centroid that is too heavy to represent different
 * values is therefore treated as a single value.
 */
function quantileOf(centroids: readonly Centroid[], quantile: number): number {
  const total = centroids.reduce((sum, { n }) => sum + n, 0);
  const wanted = quantile * total;
  let [rank, value] = [0, centroids[0]?.mean ?? 0];
  let seen = 0;
  for (const { mean, n } of centroids) {
    const middle = (seen + n / 2) / total;
    const single = n > Math.max(1, 4 * total * DELTA * middle * (1 - middle));
    const begin = single ? seen : seen + n / 2;
    if (wanted <= begin) return begin === rank ? value : value + ((mean - value) * (wanted - rank)) / (begin - rank);
    [rank, value] = [single ? seen + n : begin, mean];
    if (wanted <= rank) return mean;
    seen += n;
  }
  return value;
}
