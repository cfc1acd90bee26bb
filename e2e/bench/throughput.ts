import { Dataplane, Folder, frame, NDJSON } from '../harness/dataplane.ts';
import { atLeast, type Figure, median } from './figure.ts';
import { nginxProxy, nginxUpstream } from './nginx.ts';
import { requestsPerSecond } from './wrk.ts';

const PROXY_CORE = 0;
const LOAD_CORE = 1;
const ROUNDS = 5;
const SECONDS = 3;
const HOST = 'bench.test';

/** One worker on one core against nginx on the same core, in turns; then the same with 100,000 routes. */
export async function throughput(): Promise<Figure[]> {
  using folder = new Folder();
  const upstream = await nginxUpstream(folder, LOAD_CORE);
  const nginx = await nginxProxy(folder, PROXY_CORE, upstream.port);
  await using small = await Dataplane.start({ stateDir: folder.file('small'), workers: 1, command: ['taskset', '-c', `${PROXY_CORE}`] });
  await using large = await Dataplane.start({ stateDir: folder.file('large'), workers: 1, command: ['taskset', '-c', `${PROXY_CORE}`] });
  const route = { domain: HOST, upstream: `127.0.0.1:${upstream.port}` };
  await small.route(route.domain, route.upstream);
  const many = [route, ...Array.from({ length: 99_999 }, (_, index) => ({ domain: `site-${index}.test`, upstream: route.upstream }))];
  const applied = await large.admin('POST', '/routes', frame(1, many), NDJSON);
  if (applied.status !== 200) throw new Error(`the frame was not taken: ${applied.text.slice(0, 500)}`);

  const rounds = { nginx: [] as number[], small: [] as number[], large: [] as number[] };
  try {
    for (let round = 0; round <= ROUNDS; round++) {
      for (const [name, port] of [
        ['nginx', nginx.port],
        ['small', small.httpPort],
        ['large', large.httpPort],
      ] as const) {
        const rate = await requestsPerSecond(port, HOST, LOAD_CORE, SECONDS);
        // The first round warms up compilers and connections.
        if (round > 0) rounds[name].push(rate);
      }
    }
  } finally {
    await Promise.all([nginx.program.kill('SIGQUIT'), upstream.program.kill('SIGQUIT')]);
  }
  const pairs = rounds.small.map((rate, round) => rate / (rounds.nginx[round] as number));
  const sizes = rounds.large.map((rate, round) => rate / (rounds.small[round] as number));
  return [
    { what: 'nginx', figure: median(rounds.nginx), unit: 'req/s', goal: 'for comparison', met: true },
    { what: 'one worker, 64 keep-alive connections', figure: median(rounds.small), unit: 'req/s', goal: 'for comparison', met: true },
    atLeast('the ratio of the two', median(pairs), 'x', 0.5),
    atLeast('100,000 routes against one', median(sizes), 'x', 0.95),
  ];
}
