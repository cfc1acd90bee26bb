import { Folder } from '../harness/dataplane.ts';
import { caddy } from './contenders/caddy.ts';
import { type Contender, cpuOf } from './contenders/contender.ts';
import { haproxy } from './contenders/haproxy.ts';
import { nginxProxy, nginxUpstream } from './contenders/nginx.ts';
import { sluice } from './contenders/sluice.ts';
import { atLeast, type Figure, median, shown } from './figure.ts';
import { type Load, wrk } from './wrk.ts';

const PROXY_CORE = 0;
const LOAD_CORE = 1;
const ROUNDS = 5;

type Kind = { readonly what: string; readonly load: Load; readonly goals: Readonly<Record<string, number>> };

const load = { core: LOAD_CORE, seconds: 3 };

export const keepalive = (): Promise<Figure[]> =>
  compared({ what: 'small answers, 64 keep-alive connections', load, goals: { nginx: 0.7, caddy: 4 } });

export const large = (): Promise<Figure[]> =>
  compared({ what: 'answers of 10 MB', load: { ...load, path: '/large', connections: 16 }, goals: { nginx: 0.8 } });

export const connecting = (): Promise<Figure[]> =>
  compared({ what: 'a new connection for each request', load: { ...load, close: true }, goals: { nginx: 0.6 } });

type Sample = { readonly perSecond: number; readonly user: number; readonly kernel: number };

/** One worker on one core against nginx, HAProxy and Caddy on the same core, in turns; load and upstream on the other. */
async function compared(kind: Kind): Promise<Figure[]> {
  using folder = new Folder();
  const upstream = await nginxUpstream(folder, LOAD_CORE);
  const proxies: Contender[] = [];
  for (const start of [sluice, nginxProxy, haproxy, caddy]) proxies.push(await start(folder, PROXY_CORE, upstream.port));
  try {
    return figuresOf(kind, await rounds(kind, proxies));
  } finally {
    await Promise.all([...proxies, upstream].map((proxy) => proxy.stop()));
  }
}

/** The samples of each proxy, in rounds: what disturbs the machine disturbs all of them. */
async function rounds({ load }: Kind, proxies: readonly Contender[]): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>(proxies.map(({ name }) => [name, []]));
  for (let round = 0; round <= ROUNDS; round++)
    for (const proxy of proxies) {
      const sample = await measured(proxy, load);
      // The first round warms up compilers and connections.
      if (round > 0) samples.get(proxy.name)?.push(sample);
    }
  return samples;
}

async function measured(proxy: Contender, load: Load): Promise<Sample> {
  const pids = proxy.pids();
  const before = cpuOf(pids);
  const { perSecond, requests } = await wrk(proxy.port, load);
  const after = cpuOf(pids);
  return { perSecond, user: (after.user - before.user) / requests, kernel: (after.kernel - before.kernel) / requests };
}

function figuresOf({ what, goals }: Kind, samples: ReadonlyMap<string, readonly Sample[]>): Figure[] {
  const ours = samples.get('sluice') ?? [];
  const figures: Figure[] = [];
  for (const [name, taken] of samples) {
    figures.push(shown(`${what}: ${name}`, median(taken.map(({ perSecond }) => perSecond)), 'req/s'));
    figures.push(shown(`${what}: ${name}, user`, 1e6 * median(taken.map(({ user }) => user)), 'µs/req'));
    figures.push(shown(`${what}: ${name}, kernel`, 1e6 * median(taken.map(({ kernel }) => kernel)), 'µs/req'));
  }
  for (const [name, taken] of samples) {
    if (name === 'sluice') continue;
    const ratio = median(ours.map(({ perSecond }, round) => perSecond / (taken[round]?.perSecond ?? Number.NaN)));
    const goal = goals[name];
    const title = `${what}: ours against ${name}`;
    figures.push(goal === undefined ? shown(title, ratio, 'x') : atLeast(title, ratio, 'x', goal));
  }
  return figures;
}
