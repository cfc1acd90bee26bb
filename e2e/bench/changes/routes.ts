import { Folder, frame, NDJSON } from '../../testing/dataplane.ts';
import { HOST, onCores, started } from '../contenders/contender.ts';
import { nginxUpstream } from '../contenders/nginx.ts';
import type { Contest } from '../contest/contest.ts';
import { judged } from '../contest/goals.ts';
import { PROXY_CORE, UPSTREAM_CORE } from '../contest/placement.ts';
import { type Competitor, rounds, type Timing } from '../contest/rounds.ts';
import { wrk } from '../load/wrk.ts';
import { ownDataplane } from '../own-dataplane.ts';

const CORES = [PROXY_CORE];
const ONE = 'one route';

/** One worker with 1 and with 100,000 routes, in turns on the same core. */
export async function routes(timing: Timing): Promise<Contest[]> {
  using folder = new Folder();
  const upstream = await nginxUpstream(folder, UPSTREAM_CORE);
  const route = { domain: HOST, upstream: `127.0.0.1:${upstream.port}` };
  const many = Array.from({ length: 99_999 }, (_, index) => ({ domain: `site-${index}.test`, upstream: route.upstream }));
  const competitors = [await competitor(folder, '100,000 routes', [route, ...many]), await competitor(folder, ONE, [route])];
  try {
    const runs = await rounds(competitors, timing, wrk, () => ({}));
    return [judged('small responses, 64 keep-alive connections', 'requests', runs, { [ONE]: 0.98 })];
  } finally {
    await Promise.all([...competitors.map(({ proxy }) => proxy.stop()), upstream.stop()]);
  }
}

async function competitor(folder: Folder, name: string, wanted: readonly object[]): Promise<Competitor> {
  const [program, argv] = onCores(CORES);
  const dataplane = await ownDataplane({ stateDir: folder.file(name.replace(' ', '-')), command: [program, ...argv] });
  const applied = await dataplane.admin('POST', '/routes', frame(1, wanted), NDJSON);
  if (applied.status !== 200) throw new Error(`the frame was not applied: ${applied.text.slice(0, 500)}`);
  return { proxy: await started(name, dataplane.program, dataplane.httpPort), version: null, cores: CORES };
}
