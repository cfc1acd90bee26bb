import { execFileSync } from 'node:child_process';
import { type Dataplane, Folder, frame, NDJSON } from '../../testing/dataplane.ts';
import { ask } from '../../testing/http.ts';
import { Upstream } from '../../testing/upstream.ts';
import { atMost, type Figure, percentile } from '../figure.ts';
import { ownDataplane } from '../own-dataplane.ts';

const DOMAINS = 10_000;
/** Concurrent requests while the domains get their traffic. */
const WIDTH = 64;

/** The cost of counting: the memory of many visitors, and how long the main thread stops while everything is listed. */
export async function analytics(): Promise<Figure[]> {
  return [
    atMost('counting a page view', printed('recording.ts') / 1_000, 'µs', 1),
    atMost('memory of a host with 50 visitors and 20 names in each list', printed('host-memory.ts', 'small') / 1_024, 'KiB', 16),
    atMost('memory of a host with the most and the longest names', printed('host-memory.ts', 'busy') / 1_024, 'KiB', 128),
    atMost('resident memory of 10,000 domains with 10,000 visitors each', printed('visitors.ts', `${DOMAINS}`) / 1_048_576, 'MiB', 700),
    ...(await listing()),
  ];
}

/** The output of a script in a process of its own, so that the figure includes nothing else. */
function printed(script: string, ...argv: string[]): number {
  const path = new URL(script, import.meta.url).pathname;
  return Number(execFileSync(process.execPath, ['--expose-gc', path, ...argv], { encoding: 'utf8' }));
}

async function listing(): Promise<Figure[]> {
  using folder = new Folder();
  await using upstream = await Upstream.start('bench', (_, response) => response.end('ok'));
  await using dataplane = await ownDataplane({ stateDir: folder.file('state') });
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
