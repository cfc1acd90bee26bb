import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Dataplane, Folder, frame, NDJSON } from '../harness/dataplane.ts';
import { REPOSITORY } from '../harness/process.ts';
import { Upstream } from '../harness/upstream.ts';
import { atMost, type Figure } from './figure.ts';

const ROUTES = 1_000;

/** Resident memory of a data plane with one worker and 1,000 routes, each used once, from what is installed: dist/. */
export async function memory(): Promise<Figure[]> {
  const built = spawnSync('sh', ['scripts/build.sh'], { cwd: REPOSITORY, stdio: 'inherit' });
  if (built.status !== 0) throw new Error('dist/ could not be built');
  using folder = new Folder();
  await using upstream = await Upstream.start('bench', (_, response) => response.end('ok'));
  await using dataplane = await Dataplane.start({
    stateDir: folder.file('state'),
    workers: 1,
    entry: [installed(folder), 'dataplane'],
  });
  const routes = Array.from({ length: ROUTES }, (_, index) => ({ domain: `site-${index}.test`, upstream: upstream.address }));
  await dataplane.admin('POST', '/routes', frame(1, routes), NDJSON);
  for (const { domain } of routes) await dataplane.visit(domain);
  const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${dataplane.program.pid}/status`, 'utf8'));
  return [atMost('resident memory, one worker, 1,000 routes', Number(resident?.[1]) / 1_024, 'MiB', 130)];
}

/** The launcher as an installed package has it: beside dist/ and without sources. */
function installed(folder: Folder): string {
  const root = folder.file('installed');
  mkdirSync(root);
  for (const name of ['dist', 'node_modules']) symlinkSync(join(REPOSITORY, name), join(root, name));
  copyFileSync(join(REPOSITORY, 'sluice'), join(root, 'sluice'));
  return join(root, 'sluice');
}
