import { Folder } from '../../testing/dataplane.ts';
import { nginxUpstream } from '../contenders/nginx.ts';
import { sluice } from '../contenders/sluice.ts';
import { basisOf, type Contest, entryOf, ratiosOf } from '../contest/contest.ts';
import { LOAD_CORE, PLACEMENT, PROXY_CORE, UPSTREAM_CORE } from '../contest/placement.ts';
import { type Competitor, rounds, type Timing } from '../contest/rounds.ts';
import { atLeast, median, spreadOf } from '../figure.ts';
import { wrk } from '../load/wrk.ts';

/** The system distributes connections by a hash, so each worker gets about half of them if there are many. */
const CONNECTIONS = 256;

/**
 * Two workers against one. With four cores, the proxy has one or two of them to itself. With fewer, it shares both with the load, so only
 * processor times can be compared. They include what two workers lose by sharing memory, but not what they lose when connections are
 * unevenly distributed.
 */
export async function scaling(timing: Timing): Promise<Contest[]> {
  using folder = new Folder();
  using other = new Folder();
  const upstream = await nginxUpstream(folder, UPSTREAM_CORE);
  const { second } = PLACEMENT;
  const both = [PROXY_CORE, second ?? LOAD_CORE];
  const competitors: Competitor[] = [];
  const add = async (name: string, inside: Folder, cores: readonly number[], workers: number): Promise<void> => {
    const proxy = await sluice({ folder: inside, cores, workers, upstream: upstream.port, tls: null });
    competitors.push({ proxy: { ...proxy, name }, version: null, cores });
  };
  try {
    await add('two workers', folder, both, 2);
    await add('one worker', other, second === null ? both : [PROXY_CORE], 1);
    const runs = await rounds(competitors, timing, wrk, () => ({ connections: CONNECTIONS }));
    const [two, one] = runs;
    if (two === undefined || one === undefined) throw new Error('nothing was measured');
    const what = `small responses, ${CONNECTIONS} keep-alive connections`;
    const { basis, remarks } = basisOf(runs);
    const ratios = ratiosOf(two, one, basis).map((ratio) => (basis === 'rate' ? ratio : 2 * ratio));
    const figure = atLeast(`${what}: two workers against one`, median(ratios), 'x', 1.8, spreadOf(ratios));
    return [{ what, unit: 'requests', entries: runs.map(entryOf), ratios: [figure], remarks }];
  } finally {
    await Promise.all([...competitors.map(({ proxy }) => proxy.stop()), upstream.stop()]);
  }
}
