import { Dataplane, Folder, frame, NDJSON } from '../harness/dataplane.ts';
import { HOST } from './contenders/contender.ts';
import { nginxUpstream } from './contenders/nginx.ts';
import { atLeast, type Figure, median } from './figure.ts';
import { wrk } from './wrk.ts';

const PROXY_CORE = 0;
const LOAD_CORE = 1;
const ROUNDS = 5;
const SECONDS = 3;

/** One worker with 1 and with 100,000 routes, alternating on the same core. */
export async function routes(): Promise<Figure[]> {
  using folder = new Folder();
  const upstream = await nginxUpstream(folder, LOAD_CORE);
  await using small = await Dataplane.start({
    stateDir: folder.file('one-route'),
    workers: 1,
    command: ['taskset', '-c', `${PROXY_CORE}`],
  });
  await using large = await Dataplane.start({
    stateDir: folder.file('many-routes'),
    workers: 1,
    command: ['taskset', '-c', `${PROXY_CORE}`],
  });
  const route = { domain: HOST, upstream: `127.0.0.1:${upstream.port}` };
  await small.route(route.domain, route.upstream);
  const many = [route, ...Array.from({ length: 99_999 }, (_, index) => ({ domain: `site-${index}.test`, upstream: route.upstream }))];
  const applied = await large.admin('POST', '/routes', frame(1, many), NDJSON);
  if (applied.status !== 200) throw new Error(`the frame was not taken: ${applied.text.slice(0, 500)}`);

  const ratios: number[] = [];
  try {
    for (let round = 0; round <= ROUNDS; round++) {
      const one = await wrk(small.httpPort, { core: LOAD_CORE, seconds: SECONDS });
      const all = await wrk(large.httpPort, { core: LOAD_CORE, seconds: SECONDS });
      // The first round warms up compilers and connections.
      if (round > 0) ratios.push(all.perSecond / one.perSecond);
    }
  } finally {
    await upstream.stop();
  }
  return [atLeast('100,000 routes against one', median(ratios), 'x', 0.95)];
}
