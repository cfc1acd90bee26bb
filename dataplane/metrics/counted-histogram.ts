import { Histogram, type Registry } from 'prom-client';
import type { Totals } from './totals.ts';

type Line = { metricName: string; labels: Record<string, string | number>; sharedLabels: Record<string, string>; value: number };

type Options = {
  readonly name: string;
  readonly help: string;
  /** Upper bounds in seconds, ascending; `Totals.durations` has one count for each and one for longer durations. */
  readonly bounds: readonly number[];
  readonly registry: Registry;
  readonly read: () => Iterable<[domain: string, totals: Totals]>;
};

/**
 * A histogram whose buckets are counted elsewhere. prom-client's histogram needs one `observe` per request,
 * which costs more than the request itself. Here, a scrape reads the counts that the workers sent.
 */
export class CountedHistogram extends Histogram<'domain'> {
  private readonly options: Options;

  constructor(options: Options) {
    const { name, help, bounds, registry } = options;
    super({ name, help, labelNames: ['domain'], buckets: [...bounds], registers: [registry] });
    this.options = options;
  }

  /** prom-client's registry and `get` call this for the lines of the histogram. */
  async getForPromString(): Promise<{ name: string; help: string; type: 'histogram'; aggregator: 'sum'; values: Line[] }> {
    const { name, help, read } = this.options;
    const values: Line[] = [];
    for (const [domain, totals] of read()) this.lines(domain, totals, values);
    return { name, help, type: 'histogram', aggregator: 'sum', values };
  }

  private lines(domain: string, totals: Totals, into: Line[]): void {
    const { name, bounds } = this.options;
    const sharedLabels = { domain };
    let upTo = 0;
    const line = (suffix: string, value: number, labels: Line['labels'] = {}) =>
      into.push({ metricName: `${name}_${suffix}`, labels, sharedLabels, value });
    for (const [index, bound] of bounds.entries()) {
      upTo += totals.durations[index] ?? 0;
      line('bucket', upTo, { le: bound });
    }
    const count = upTo + (totals.durations[bounds.length] ?? 0);
    line('bucket', count, { le: '+Inf' });
    line('sum', totals.durationSum);
    line('count', count);
  }
}
