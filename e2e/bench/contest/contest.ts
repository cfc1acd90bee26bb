import { type Figure, median, spreadOf } from '../figure.ts';
import type { Latency } from '../load/load.ts';
import { costOf, type LoadSample } from './sample.ts';

/** The results of one proxy: medians of its rounds. */
export type ContestEntry = {
  readonly name: string;
  readonly version: string | null;
  readonly perSecond: number;
  /** How much the rates of the rounds differ (see `spreadOf`). */
  readonly spread: number;
  /** Processor time per request, in seconds. */
  readonly user: number;
  readonly kernel: number;
  /** The total in the first seconds after the start; null if it was not measured. */
  readonly cold: number | null;
  readonly latency: Omit<Latency, 'delayed'> | null;
  /** Proportional set size of all processes after the load, in bytes. */
  readonly memory: number;
};

/** Several proxies under the same load. */
export type Contest = {
  readonly what: string;
  /** What is counted, in the plural: `requests`. */
  readonly unit: string;
  /** Ours is the first. */
  readonly entries: readonly ContestEntry[];
  /** Ours against the others. */
  readonly ratios: readonly Figure[];
  /** Reasons why the figures are less exact, as sentences. */
  readonly remarks: readonly string[];
};

/** The rounds of one proxy, before they are summarized. */
export type Run = {
  readonly name: string;
  readonly version: string | null;
  readonly cold: LoadSample | null;
  readonly samples: readonly LoadSample[];
  readonly memory: number;
};

/** Other work and idle time count as noise up to this share of a core. */
const NOISE = 0.05;

export function entryOf({ name, version, cold, samples, memory }: Run): ContestEntry {
  const rates = samples.map(({ perSecond }) => perSecond);
  const latencies = samples.flatMap(({ latency }) => latency ?? []);
  const latency = {
    p50: median(latencies.map(({ p50 }) => p50)),
    p99: median(latencies.map(({ p99 }) => p99)),
  };
  return {
    name,
    version,
    perSecond: median(rates),
    spread: spreadOf(rates),
    user: median(samples.map(({ user }) => user)),
    kernel: median(samples.map(({ kernel }) => kernel)),
    cold: cold === null ? null : costOf(cold),
    latency: latencies.length > 0 ? latency : null,
    memory,
  };
}

/**
 * Whether rates can be compared. If another program used part of the proxy's core, or if the load was too slow for it, the
 * rate says nothing about the proxy. Its processor time per request still does: it doesn't depend on the share of the core.
 */
export function basisOf(runs: readonly Run[]): { readonly basis: 'rate' | 'processor time'; readonly remarks: readonly string[] } {
  const remarks = [...disturbances(runs), ...waits(runs)];
  if (remarks.length === 0) return { basis: 'rate', remarks };
  return { basis: 'processor time', remarks: [...remarks, 'The ratios are therefore those of processor time per request.'] };
}

/** A sentence that names the proxies whose cores ran other work. */
export function disturbances(runs: readonly Run[]): string[] {
  const shares = sharesOver(NOISE, runs, ({ foreign }) => foreign);
  return shares === null ? [] : [`Something else used part of the proxy's core: ${shares}.`];
}

/** A sentence that names the proxies that were not fully loaded. */
function waits(runs: readonly Run[]): string[] {
  const shares = sharesOver(NOISE, runs, ({ unused }) => unused);
  if (shares === null) return [];
  const saturated = sharesOver(1 - NOISE, runs, ({ loadUnused }) => 1 - loadUnused) !== null;
  return [`Part of the proxy's core was unused${saturated ? ', because the core of the load was fully used' : ''}: ${shares}.`];
}

/** The proxies for which a share is over a limit in most rounds: `nginx 7 %, caddy 12 %`; null if there are none. */
export function sharesOver(limit: number, runs: readonly Run[], shareOf: (sample: LoadSample) => number): string | null {
  const shares = runs.map(({ name, samples }) => ({ name, share: median(samples.map(shareOf)) })).filter(({ share }) => share > limit);
  return shares.length === 0 ? null : shares.map(({ name, share }) => `${name} ${percent(share)}`).join(', ');
}

const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** Ours (the first run) against another one, per round: how many times as fast. */
export function ratiosOf(ours: Run, other: Run, basis: 'rate' | 'processor time'): number[] {
  return ours.samples.map((sample, round) => {
    const against = other.samples[round];
    if (against === undefined) return Number.NaN;
    return basis === 'rate' ? sample.perSecond / against.perSecond : costOf(against) / costOf(sample);
  });
}
