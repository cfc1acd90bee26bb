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
  const listed = await healthDuring(dataplane, '/analytics');
  const scraped = await healthDuring(dataplane, '/metrics');
  // A change of the table makes the next scrape read all routes again.
  await dataplane.route('another.test', upstream.address);
  const changed = await healthDuring(dataplane, '/metrics');
  const { length } = JSON.parse(listed.text);
  return [
    atMost('GET /health while GET /analytics lists 10,000 domains (slowest)', listed.slowest, 'ms', 50),
    atMost('domains that were not listed', DOMAINS - length, '', 0),
    atMost('GET /health while GET /metrics counts 10,000 domains (slowest)', scraped.slowest, 'ms', 50),
    atMost('GET /health while GET /metrics reads a changed table (slowest)', changed.slowest, 'ms', 50),
  ];
}

/** The response to a request, and how long the slowest of many requests to `/health` took meanwhile (ms). */
async function healthDuring(dataplane: Dataplane, path: string): Promise<{ text: string; slowest: number }> {
  const waits: number[] = [];
  let answered = false;
  const answer = dataplane.admin('GET', path).finally(() => {
    answered = true;
  });
  while (!answered) {
    const start = performance.now();
    await ask({ port: dataplane.adminPort }, '/health');
    waits.push(performance.now() - start);
  }
  return { text: (await answer).text, slowest: percentile(waits, 1) };
}
