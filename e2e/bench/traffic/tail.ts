import { Folder } from '../../testing/dataplane.ts';
import { nginxUpstream } from '../contenders/nginx.ts';
import { withCompetitors } from '../contest/competitors.ts';
import { type Contest, disturbances, entryOf, type Run, sharesOver } from '../contest/contest.ts';
import { PROXY_CORE, UPSTREAM_CORE } from '../contest/placement.ts';
import { inTurns, type LoadShape, rounds, type Timing } from '../contest/rounds.ts';
import { costOf } from '../contest/sample.ts';
import { atMost, type Figure, median, shown, spreadOf } from '../figure.ts';
import { paced } from '../load/paced.ts';
import { wrk } from '../load/wrk.ts';

/** How many times as long as with nginx a request may take at the 99th percentile. */
const GOAL = 1.2;
/** If the machine delays more than this share of the requests, what is left may be the easy ones. */
const FEW = 0.1;

/** How long requests take while a proxy has half its maximum load. */
const atHalfLoad =
  (secure: boolean) =>
  async (timing: Timing): Promise<Contest[]> => {
    const what = `${secure ? 'TLS, ' : ''}small responses at half of each one's own peak`;
    using folder = new Folder();
    const upstream = await nginxUpstream(folder, UPSTREAM_CORE);
    try {
      return await withCompetitors({ cores: [PROXY_CORE], upstream: upstream.port, secure }, async (competitors) => {
        const peaks = new Map((await rounds(competitors, timing, wrk, () => ({ secure }))).map((run) => [run.name, peakOf(run)]));
        const shapeOf = ({ name }: { name: string }): LoadShape => ({ secure, perSecond: (peaks.get(name) ?? 0) / 2 });
        return [tailOf(what, await inTurns(competitors, timing, paced, shapeOf))];
      });
    } finally {
      await upstream.stop();
    }
  };

export const tail = atHalfLoad(false);
export const tlsTail = atHalfLoad(true);

/** The maximum requests per second if the proxy has its core to itself. */
const peakOf = ({ samples }: Run): number => 1 / median(samples.map(costOf));

/** Compares the 99th percentiles. If something else may have delayed requests, they are not judged. */
export function tailOf(what: string, runs: readonly Run[]): Contest {
  const hindrances = [...disturbances(runs), ...delays(runs)];
  const remarks = [...hindrances];
  if (hindrances.length > 0)
    remarks.push('Requests may have waited for that, so their times say little about the proxies and are not judged.');
  return { what, unit: 'requests', entries: runs.map(entryOf), ratios: ratiosOf(what, runs, hindrances.length === 0), remarks };
}

/** A sentence about what the machine did to requests, if that is too much, or not known. */
function delays(runs: readonly Run[]): string[] {
  const isKnown = runs.every(({ samples }) => samples.every(({ latency }) => typeof latency?.delayed === 'number'));
  if (!isKnown) return ['Whether the machine stopped its cores is not known, since watching that needs real-time priority.'];
  const shares = sharesOver(FEW, runs, ({ latency }) => latency?.delayed ?? 0);
  return shares === null ? [] : [`The machine stopped its cores during part of the requests: ${shares}.`];
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
