import { type Dataplane, Folder, frame, NDJSON } from '../../testing/dataplane.ts';
import { atMost, type Figure, median } from '../figure.ts';
import { ownDataplane } from '../own-dataplane.ts';

const ROUTES = 100_000;
const CHANGES = 20;

/** How long the Admin API takes to apply a whole table, and a single route. */
export async function applying(): Promise<Figure[]> {
  using folder = new Folder();
  await using dataplane = await ownDataplane({ stateDir: folder.file('state') });
  const routes = Array.from({ length: ROUTES }, (_, index) => ({
    domain: `site-${index}.test`,
    upstream: `10.0.${(index >> 8) & 255}.${index & 255}:8080`,
  }));
  const whole = await timed(dataplane, frame(1, routes));
  const single: number[] = [];
  for (let change = 0; change < CHANGES; change++) {
    const header = { apply: { controller: 'tests', epoch: 1, revision: change + 2, based_on: change + 1, sources: ['file'] } };
    const lines = [
      header,
      { route: { domain: 'site-7.test', upstream: `10.1.1.1:${8_000 + change}`, tls: false, source: 'file' } },
      { end: { revision: change + 2 } },
    ];
    single.push(await timed(dataplane, lines.map((line) => `${JSON.stringify(line)}\n`).join('')));
  }
  return [
    atMost(`a frame of ${ROUTES.toLocaleString('en')} new routes, on disk and served`, whole / 1_000, 's', 2),
    atMost('a single change among them (median)', median(single), 'ms', 20),
  ];
}

async function timed(dataplane: Dataplane, body: string): Promise<number> {
  const start = performance.now();
  const answer = await dataplane.admin('POST', '/routes', body, NDJSON);
  if (answer.status !== 200) throw new Error(`the frame was not applied: ${answer.text.slice(0, 500)}`);
  return performance.now() - start;
}
