import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { buildPage } from '../dataplane/admin/dashboard/page/build.ts';
import { bundle, bundleLoader } from './build/bundle.ts';
import { licensesOf } from './build/licenses.ts';
import { trialRun } from './build/trial-run.ts';

/** The entry points of the processes, and of the threads of the data plane. */
const ENTRIES = [
  'shared/parent/main',
  'dataplane/traffic/worker/worker',
  'dataplane/access-log/log-thread',
  'dataplane/analytics/history/thread',
  'dataplane/cache/disk/thread',
  'dataplane/tracing/export-thread',
];
/**
 * Entry points that import some modules only when they are needed, such as a command or the Kubernetes client: these get files of their
 * own.
 */
const SPLIT = ['dataplane/main', 'controller/main', 'controller/cli/main', 'controller/cli/run/main'];

/** Builds what an installed package runs. Run from the root of the repository, with the directory to write. */
const [dist = 'dist'] = process.argv.slice(2);
await rm(dist, { recursive: true, force: true });
const files = await Promise.all([
  ...ENTRIES.map((entry) => bundle(entry, dist, false)),
  ...SPLIT.map((entry) => bundle(entry, dist, true)),
]);
await bundleLoader(dist);
await writeFile(join(dist, 'licenses.txt'), licensesOf(files.flat()));
const page = join(dist, 'dataplane/admin/dashboard/page.html');
await mkdir(dirname(page), { recursive: true });
await writeFile(page, await buildPage());
await trialRun(resolve(dist));
