import type { Contender } from '../contenders/contender.ts';
import type { LoadOptions, Tool } from '../load/load.ts';
import { proportionalOf } from '../processes.ts';
import type { Run } from './contest.ts';
import { LOAD_CORE } from './placement.ts';
import { type LoadSample, sampled } from './sample.ts';

/** How long and how often proxies are measured. */
export type Timing = { readonly rounds: number; readonly seconds: number };

export type Competitor = {
  readonly proxy: Contender;
  readonly version: string | null;
  /** The cores on which it runs. */
  readonly cores: readonly number[];
};

/** A load without its core and its duration. */
export type LoadShape = Omit<LoadOptions, 'core' | 'seconds'>;

/**
 * A proxy is warm after this many requests, when its compiler has optimized all it can, or after this many seconds if requests take
 * long.
 */
const [WARM_REQUESTS, WARM_SECONDS] = [100_000, 20];
const COLD_SECONDS = 1;

type ShapeOf = (proxy: Contender) => LoadShape;

/** Measures each proxy in its first second, warms it up, and then measures all of them in turns. */
export async function rounds(competitors: readonly Competitor[], timing: Timing, tool: Tool, shapeOf: ShapeOf): Promise<Run[]> {
  const cold: LoadSample[] = [];
  for (const competitor of competitors) {
    const measure = (seconds: number) => measured(competitor, seconds, tool, shapeOf);
    const first = await measure(COLD_SECONDS);
    cold.push(first);
    await warm(first.perSecond * COLD_SECONDS, timing.seconds, measure);
  }
  const runs = await inTurns(competitors, timing, tool, shapeOf);
  return runs.map((run, at) => ({ ...run, cold: cold[at] ?? null }));
}

/** Loads all proxies in turns, so that other work on the machine affects each of them. */
export async function inTurns(
  competitors: readonly Competitor[],
  { rounds: count, seconds }: Timing,
  tool: Tool,
  shapeOf: ShapeOf,
): Promise<Run[]> {
  const samples: LoadSample[][] = competitors.map(() => []);
  for (let round = 0; round < count; round++)
    for (const [at, competitor] of competitors.entries()) samples[at]?.push(await measured(competitor, seconds, tool, shapeOf));
  return competitors.map(({ proxy, version }, at) => ({
    name: proxy.name,
    version,
    cold: null,
    samples: samples[at] ?? [],
    memory: proportionalOf(proxy.pids()),
  }));
}

function measured({ proxy, cores }: Competitor, seconds: number, tool: Tool, shapeOf: ShapeOf): Promise<LoadSample> {
  return sampled(proxy, cores, seconds, () => tool(proxy.port, { ...shapeOf(proxy), core: LOAD_CORE, seconds }));
}

async function warm(done: number, seconds: number, load: (seconds: number) => Promise<LoadSample>): Promise<void> {
  let requests = done;
  for (let spent = 0; requests < WARM_REQUESTS && spent < WARM_SECONDS; spent += seconds) {
    const { perSecond } = await load(seconds);
    requests += perSecond * seconds;
  }
}
