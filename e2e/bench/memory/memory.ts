import { readFileSync } from 'node:fs';
import { Folder, frame, NDJSON } from '../../testing/dataplane.ts';
import { Upstream } from '../../testing/upstream.ts';
import { atMost, type Figure } from '../figure.ts';
import { ownDataplane } from '../own-dataplane.ts';

const ROUTES = 1_000;

/** Resident memory of a data plane with one worker and 1,000 routes, each used once. */
export async function memory(): Promise<Figure[]> {
  using folder = new Folder();
  await using upstream = await Upstream.start('bench', (_, response) => response.end('ok'));
  await using dataplane = await ownDataplane({ stateDir: folder.file('state') });
  const routes = Array.from({ length: ROUTES }, (_, index) => ({ domain: `site-${index}.test`, upstream: upstream.address }));
  await dataplane.admin('POST', '/routes', frame(1, routes), NDJSON);
  for (const { domain } of routes) await dataplane.visit(domain);
  const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${dataplane.program.pid}/status`, 'utf8'));
  return [atMost('resident memory, one worker, 1,000 routes', Number(resident?.[1]) / 1_024, 'MiB', 130)];
}
