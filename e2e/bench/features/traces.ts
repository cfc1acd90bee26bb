import { Collector } from '../../testing/collector.ts';
import { Folder } from '../../testing/dataplane.ts';
import { type Contender, HOST, started } from '../contenders/contender.ts';
import { nginxUpstream } from '../contenders/nginx.ts';
import { LOAD_CORE, PROXY_CORE, UPSTREAM_CORE } from '../contest/placement.ts';
import { atLeast, type Figure, median, shown } from '../figure.ts';
import { wrk } from '../load/wrk.ts';
import { ownDataplane } from '../own-dataplane.ts';

const ROUNDS = 5;

/** The cost of tracing: one worker without it, with one request in a hundred sampled, and with all of them, on the same core, in turns. */
export async function traces(): Promise<Figure[]> {
  using folder = new Folder();
  await using collector = await Collector.start();
  collector.keeps = false;
  const upstream = await nginxUpstream(folder, UPSTREAM_CORE);
  const proxies = {
    off: await proxy(folder, 'off', [], upstream.port),
    some: await proxy(folder, 'some', ['--otlp-endpoint', collector.url, '--trace-sampling', '0.01'], upstream.port),
    all: await proxy(folder, 'all', ['--otlp-endpoint', collector.url], upstream.port),
  };
  const rates: Record<keyof typeof proxies, number[]> = { off: [], some: [], all: [] };
  try {
    for (let round = 0; round <= ROUNDS; round++)
      for (const name of ['off', 'some', 'all'] as const) {
        const { perSecond } = await wrk(proxies[name].port, { core: LOAD_CORE, seconds: 3, path: '/?page=2' });
        // The first round warms up compilers and connections.
        if (round > 0) rates[name].push(perSecond);
      }
    const ratio = (name: 'some' | 'all'): number => median(rates[name].map((rate, round) => rate / (rates.off[round] ?? Number.NaN)));
    return [
      shown('small responses without tracing', median(rates.off), 'req/s'),
      shown('small responses, one in a hundred sampled', median(rates.some), 'req/s'),
      shown('small responses, all sampled', median(rates.all), 'req/s'),
      atLeast('the rate with one in a hundred sampled against that without', ratio('some'), 'x', 0.9),
      shown('the rate with all sampled against that without', ratio('all'), 'x'),
    ];
  } finally {
    await Promise.all([...Object.values(proxies), upstream].map((one) => one.stop()));
  }
}

async function proxy(folder: Folder, name: string, flags: readonly string[], upstream: number): Promise<Contender> {
  const command = ['taskset', '-c', `${PROXY_CORE}`];
  const dataplane = await ownDataplane({ stateDir: folder.file(name), flags, command });
  await dataplane.route(HOST, `127.0.0.1:${upstream}`);
  return started(`tracing ${name}`, dataplane.program, dataplane.httpPort, null);
}
