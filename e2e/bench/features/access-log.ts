import { readFileSync, rmSync } from 'node:fs';
import { type Dataplane, Folder } from '../../testing/dataplane.ts';
import { type Contender, HOST, started } from '../contenders/contender.ts';
import { nginxUpstream } from '../contenders/nginx.ts';
import { LOAD_CORE, PROXY_CORE, UPSTREAM_CORE } from '../contest/placement.ts';
import { atLeast, atMost, type Figure, median, shown } from '../figure.ts';
import { wrk } from '../load/wrk.ts';
import { ownDataplane } from '../own-dataplane.ts';

const ROUNDS = 5;

/** The fields of a browser, which account for most of the cost of a line. */
const BROWSER = [
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36',
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Accept-Language: en-US,en;q=0.9',
  'Cookie: session=5f0c1d2e3a4b5c6d7e8f; theme=dark',
  'Referer: https://shop.example/list?page=2&sort=price',
  'Sec-Fetch-Dest: document',
  'Sec-Fetch-Mode: navigate',
  'Sec-Fetch-Site: same-origin',
  'Upgrade-Insecure-Requests: 1',
];

/**
 * The cost of the access log: one worker with it and one without, on the same core, in turns. The thread that writes runs on that core too.
 */
export async function accessLog(): Promise<Figure[]> {
  using folder = new Folder();
  const upstream = await nginxUpstream(folder, UPSTREAM_CORE);
  const file = folder.file('access.log');
  const off = await proxy(folder, 'off', upstream.port);
  const on = await proxy(folder, file, upstream.port);
  try {
    const rates: Record<'off' | 'on', number[]> = { off: [], on: [] };
    let requests = 0;
    let lines = 0;
    for (let round = 0; round <= ROUNDS; round++)
      for (const [name, { port }] of [['off', off] as const, ['on', on] as const]) {
        const measured = await wrk(port, { core: LOAD_CORE, seconds: 3, path: '/?page=2&sort=price', fields: BROWSER });
        // The first round warms up compilers and connections.
        if (round > 0) rates[name].push(measured.perSecond);
        if (name === 'off') continue;
        requests += measured.requests;
        lines += await linesIn(on, file);
      }
    const ratio = median(rates.on.map((rate, round) => rate / (rates.off[round] ?? Number.NaN)));
    return [
      shown('small responses with the fields of a browser: no access log', median(rates.off), 'req/s'),
      shown('small responses with the fields of a browser: an access log', median(rates.on), 'req/s'),
      atLeast('the rate with an access log against that without', ratio, 'x', 0.8),
      atMost('requests without a line', Math.max(0, requests - lines), '', 0),
    ];
  } finally {
    await Promise.all([off, on, upstream].map((one) => one.stop()));
  }
}

type Proxy = Contender & { readonly dataplane: Dataplane };

async function proxy(folder: Folder, log: string, upstream: number): Promise<Proxy> {
  const stateDir = folder.file(log === 'off' ? 'off' : 'on');
  const command = ['taskset', '-c', `${PROXY_CORE}`];
  const dataplane = await ownDataplane({ stateDir, flags: ['--access-log', log], command });
  await dataplane.route(HOST, `127.0.0.1:${upstream}`);
  return { ...(await started(`access log ${log}`, dataplane.program, dataplane.httpPort, null)), dataplane };
}

/** Ends the file and counts its lines. */
async function linesIn({ dataplane }: Proxy, file: string): Promise<number> {
  const before = dataplane.program.stdout.length;
  dataplane.program.child.kill('SIGUSR2');
  while (!dataplane.program.stdout.includes('the access log was reopened', before)) await new Promise((resolve) => setImmediate(resolve));
  const lines = readFileSync(file, 'latin1').split('\n').length - 1;
  rmSync(file);
  dataplane.program.child.kill('SIGUSR2');
  return lines;
}
