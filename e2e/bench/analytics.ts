import { execFileSync } from 'node:child_process';
import { Dataplane, Folder, frame, NDJSON } from '../harness/dataplane.ts';
import { ask } from '../harness/http.ts';
import { Upstream } from '../harness/upstream.ts';
import { atMost, type Figure, percentile } from './figure.ts';

const DOMAINS = 10_000;
/** Requests under way at a time while the domains get their traffic. */
const WIDTH = 64;

/** What counting costs: the memory of many visitors, and how long the main thread stops while everything is listed. */
export async function analytics(): Promise<Figure[]> {
  return [memoryOfVisitors(), ...(await listing())];
}

/** In a process of its own, so that nothing else is in the figure. */
function memoryOfVisitors(): Figure {
  const script = new URL('./visitors.ts', import.meta.url).pathname;
  const bytes = Number(execFileSync(process.execPath, ['--expose-gc', script, `${DOMAINS}`], { encoding: 'utf8' }));
  return atMost('resident memory of 10,000 domains with 10,000 visitors each', bytes / 1_048_576, 'MiB', 700);
}

async function listing(): Promise<Figure[]> {
  using folder = new Folder();
  await using upstream = await Upstream.start('bench', (_, response) => response.end('ok'));
  await using dataplane = await Dataplane.start({ stateDir: folder.path, workers: 1 });
  const domains = Array.from({ length: DOMAINS }, (_, at) => `site-${at}.test`);
  const routes = domains.map((domain) => ({ domain, upstream: upstream.address }));
  await dataplane.admin('POST', '/routes', frame(1, routes), NDJSON);
  for (let from = 0; from < DOMAINS; from += WIDTH)
    await Promise.all(domains.slice(from, from + WIDTH).map((domain) => dataplane.visit(domain)));
  const waits: number[] = [];
  let listed = false;
  const list = dataplane.admin('GET', '/analytics').then((answer) => {
    listed = true;
    return answer;
  });
  while (!listed) {
    const start = performance.now();
    await ask({ port: dataplane.adminPort }, '/health');
    waits.push(performance.now() - start);
  }
  const { length } = JSON.parse((await list).text);
  return [
    atMost('GET /health while GET /analytics lists 10,000 domains (slowest)', percentile(waits, 1), 'ms', 50),
    atMost('domains that were not listed', DOMAINS - length, '', 0),
  ];
}
