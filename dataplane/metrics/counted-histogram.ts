import { inTurns } from '../../shared/runtime/turns.ts';
import type { Totals } from './totals.ts';

/** How many domains are written in one turn of the event loop. */
const PER_TURN = 250;

type Options = {
  readonly name: string;
  readonly help: string;
  /** Upper bounds in seconds, ascending; `Totals.durations` has one count for each and one for longer durations. */
  readonly bounds: readonly number[];
  readonly read: () => Iterable<[domain: string, totals: Totals]>;
};

/**
 * A histogram whose buckets are counted elsewhere. prom-client's histogram needs one `observe` per request, which costs
 * more than the request itself, and makes an object for each of its 16,000 lines. Here, a scrape writes the counts that the
 * workers sent.
 */
export class CountedHistogram {
  readonly name: string;
  private readonly options: Options;
  /** The labels of each bucket up to the domain. */
  private readonly buckets: readonly string[];

  constructor(options: Options) {
    this.options = options;
    this.name = options.name;
    this.buckets = [...options.bounds, '+Inf'].map((bound) => `${options.name}_bucket{le="${bound}",domain="`);
  }

  /** The family in the Prometheus text format. */
  async text(): Promise<string> {
    const { name, help, read } = this.options;
    const lines = [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`];
    await inTurns(read(), PER_TURN, ([domain, totals]) => this.write(domain, totals, lines));
    return lines.join('\n');
  }

  /** A domain is the pattern of a route, in which nothing has to be escaped. */
  private write(domain: string, totals: Totals, into: string[]): void {
    let upTo = 0;
    for (const [index, bucket] of this.buckets.entries()) {
      upTo += totals.durations[index] ?? 0;
      into.push(`${bucket}${domain}"} ${upTo}`);
    }
    into.push(`${this.name}_sum{domain="${domain}"} ${totals.durationSum}`, `${this.name}_count{domain="${domain}"} ${upTo}`);
  }
}
