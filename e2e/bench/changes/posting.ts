import { Folder } from '../../testing/dataplane.ts';
import { ask } from '../../testing/http.ts';
import { Program } from '../../testing/process.ts';
import { Upstream } from '../../testing/upstream.ts';
import { atMost, type Figure, percentile } from '../figure.ts';
import { ownDataplane } from '../own-dataplane.ts';

/** As many as the Admin API accepts per minute, minus the one that creates the first route. */
const POSTS = 55;

/** How soon a posted route is served while the workers are busy: at the response to the POST. */
export async function posting(): Promise<Figure[]> {
  using folder = new Folder();
  await using upstream = await Upstream.start('bench', (_, response) => response.end('ok'));
  await using dataplane = await ownDataplane({ stateDir: folder.file('state') });
  await dataplane.route('bench.test', upstream.address);
  await using load = new Program('wrk', ['-t1', '-c64', '-d30s', '-H', 'Host: bench.test', `http://127.0.0.1:${dataplane.httpPort}/`]);
  const times: number[] = [];
  const health: number[] = [];
  let late = 0;
  for (let post = 0; post < POSTS; post++) {
    const start = performance.now();
    await dataplane.route(`posted-${post}.test`, upstream.address);
    times.push(performance.now() - start);
    const sent = performance.now();
    await ask({ port: dataplane.adminPort }, '/health');
    health.push(performance.now() - sent);
    if ((await dataplane.visit(`posted-${post}.test`)).status !== 200) late++;
  }
  await load.kill('SIGKILL');
  return [
    atMost('POST /routes under load, on disk and served (p99)', percentile(times, 0.99), 'ms', 50),
    atMost('GET /health under load (p99)', percentile(health, 0.99), 'ms', 50),
    atMost('posted routes that the next request did not find', late, '', 0),
  ];
}
