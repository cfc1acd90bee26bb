import { Folder } from '../../testing/dataplane.ts';
import { nginxUpstream } from '../contenders/nginx.ts';
import { withCompetitors } from '../contest/competitors.ts';
import { type Contest, disturbances, entryOf, type Run } from '../contest/contest.ts';
import { LOAD_CORE, PROXY_CORE, UPSTREAM_CORE } from '../contest/placement.ts';
import { inTurns, type LoadShape, rounds, type Timing } from '../contest/rounds.ts';
import { costOf } from '../contest/sample.ts';
import { type Stalls, stallRemarks, stallsOf } from '../contest/stalls.ts';
import { atMost, type Figure, median, shown, spreadOf } from '../figure.ts';
import { wrk } from '../load/wrk.ts';

/**
 * How long each connection waits before a request, on average. Requests of many connections with random pauses are close to random
 * arrivals.
 */
const PAUSE_MS = 10;
/** How many times as long as with nginx a request may take at the 99th percentile. */
const GOAL = 1.2;

/** How long requests take while a proxy has half its maximum load. */
const atHalfLoad =
  (secure: boolean) =>
  async (timing: Timing): Promise<Contest[]> => {
    const what = `${secure ? 'TLS, ' : ''}small responses at half of each one's own peak`;
    const stalls = await stallsOf([PROXY_CORE, LOAD_CORE, UPSTREAM_CORE]);
    using folder = new Folder();
    const upstream = await nginxUpstream(folder, UPSTREAM_CORE);
    try {
      return await withCompetitors({ cores: [PROXY_CORE], upstream: upstream.port, secure }, async (competitors) => {
        const peaks = new Map((await rounds(competitors, timing, wrk, () => ({ secure }))).map((run) => [run.name, peakOf(run)]));
        const shapeOf = ({ name }: { name: string }): LoadShape => ({
          secure,
          pauseMs: PAUSE_MS,
          connections: Math.max(1, Math.round(((peaks.get(name) ?? 0) / 2) * (PAUSE_MS / 1_000))),
        });
        const runs = await inTurns(competitors, timing, wrk, shapeOf);
        return [tailOf(what, runs, stalls)];
      });
    } finally {
      await upstream.stop();
    }
  };

export const tail = atHalfLoad(false);
export const tlsTail = atHalfLoad(true);

/** The maximum requests per second if the proxy has its core to itself. */
const peakOf = ({ samples }: Run): number => 1 / median(samples.map(costOf));

/**
 * Compares the 99th percentiles. Where something else stops the proxies, they are mostly the time that this takes, so they are not judged.
 */
export function tailOf(what: string, runs: readonly Run[], stalls: readonly Stalls[]): Contest {
  const hindrances = [...stallRemarks(stalls), ...disturbances(runs)];
  const areJudged = hindrances.length === 0;
  const remarks = areJudged
    ? []
    : [...hindrances, 'Requests waited for that, so their times say little about the proxies and are not judged.'];
  return { what, unit: 'requests', entries: runs.map(entryOf), ratios: ratiosOf(what, runs, areJudged), remarks };
}

function ratiosOf(what: string, [ours, ...others]: readonly Run[], areJudged: boolean): Figure[] {
  const times = ({ samples }: Run): number[] => samples.map(({ latency }) => latency?.p99 ?? Number.NaN);
  if (ours === undefined) return [];
  return others.map((other) => {
    const ratios = times(ours).map((time, round) => time / (times(other)[round] ?? Number.NaN));
    const title = `${what}: p99 of ${ours.name} against ${other.name}`;
    const [ratio, spread] = [median(ratios), spreadOf(ratios)];
    return areJudged && other.name === 'nginx' ? atMost(title, ratio, 'x', GOAL, spread) : shown(title, ratio, 'x', spread);
  });
}
