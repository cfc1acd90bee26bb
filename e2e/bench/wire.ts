import { writeFileSync } from 'node:fs';
import { CertificatesFixture } from '../../dataplane/traffic/testing/certificates.ts';
import { Folder } from '../harness/dataplane.ts';
import { caddy } from './contenders/caddy.ts';
import { type Contender, cpuOf, HOST, type Secure } from './contenders/contender.ts';
import { haproxy } from './contenders/haproxy.ts';
import { nginxProxy, nginxUpstream } from './contenders/nginx.ts';
import { cachingSluice, sluice } from './contenders/sluice.ts';
import { atLeast, type Figure, median, shown } from './figure.ts';
import { h2load } from './h2load.ts';
import type { Load, Measured } from './load.ts';
import { wrk } from './wrk.ts';

const PROXY_CORE = 0;
const LOAD_CORE = 1;
const ROUNDS = 5;

type Kind = {
  readonly what: string;
  readonly load: Load;
  readonly goals: Readonly<Record<string, number>>;
  /** Whether ours answers from its cache; the others do not. */
  readonly cached?: true;
  /** wrk if absent. */
  readonly tool?: (port: number, load: Load) => Promise<Measured>;
};

const load = { core: LOAD_CORE, seconds: 3 };

export const keepalive = (): Promise<Figure[]> =>
  compared({ what: 'small answers, 64 keep-alive connections', load, goals: { nginx: 0.7, caddy: 4 } });

export const large = (): Promise<Figure[]> =>
  compared({ what: 'answers of 10 MB', load: { ...load, path: '/large', connections: 16 }, goals: { nginx: 0.8 } });

export const connecting = (): Promise<Figure[]> =>
  compared({ what: 'a new connection for each request', load: { ...load, close: true }, goals: { nginx: 0.6 } });

export const tls = (): Promise<Figure[]> =>
  compared({ what: 'TLS, small answers, 64 kept connections', load: { ...load, secure: true }, goals: { nginx: 0.6, caddy: 4 } });

export const handshakes = (): Promise<Figure[]> =>
  compared({ what: 'a TLS handshake for each request', load: { ...load, secure: true, close: true }, goals: { nginx: 0.6 } });

export const http2 = (): Promise<Figure[]> =>
  compared({
    what: 'HTTP/2, small answers, 160 at once',
    load: { ...load, secure: true },
    goals: { nginx: 0.35, caddy: 2.5 },
    tool: h2load,
  });

/** Responses from the cache, compared with the same ones that nginx gets from the upstream. */
export const cached = (): Promise<Figure[]> =>
  compared({ what: 'small answers from the cache', load, goals: { nginx: 1.2 }, cached: true });

type Sample = { readonly perSecond: number; readonly user: number; readonly kernel: number };

/** One worker compared with nginx, HAProxy and Caddy on the same core, alternating; load and upstream run on the other. */
async function compared(kind: Kind): Promise<Figure[]> {
  using folder = new Folder();
  const upstream = await nginxUpstream(folder, LOAD_CORE);
  const secure = kind.load.secure ? pair(folder) : null;
  const proxies: Contender[] = [];
  const ours = kind.cached ? cachingSluice : sluice;
  for (const start of [ours, nginxProxy, haproxy, caddy]) proxies.push(await start(folder, PROXY_CORE, upstream.port, secure));
  try {
    return figuresOf(kind, await rounds(kind, proxies));
  } finally {
    await Promise.all([...proxies, upstream].map((proxy) => proxy.stop()));
  }
}

function pair(folder: Folder): Secure {
  using authority = new CertificatesFixture();
  const { cert, key } = authority.issue(HOST, '127.0.0.1');
  const secure = { certificate: folder.file('cert.pem'), privateKey: folder.file('key.pem') };
  writeFileSync(secure.certificate, cert);
  writeFileSync(secure.privateKey, key);
  return secure;
}

/** The samples of each proxy, in rounds, so that other load on the machine affects all of them. */
async function rounds({ load, tool = wrk }: Kind, proxies: readonly Contender[]): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>(proxies.map(({ name }) => [name, []]));
  for (let round = 0; round <= ROUNDS; round++)
    for (const proxy of proxies) {
      const sample = await measured(proxy, () => tool(proxy.port, load));
      // The first round warms up compilers and connections.
      if (round > 0) samples.get(proxy.name)?.push(sample);
    }
  return samples;
}

async function measured(proxy: Contender, run: () => Promise<Measured>): Promise<Sample> {
  const pids = proxy.pids();
  const before = cpuOf(pids);
  const { perSecond, requests } = await run();
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
