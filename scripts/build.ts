import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { build, type Plugin } from 'esbuild';
import { buildPage } from '../dataplane/admin/dashboard/page/build.ts';

/** What is started: the processes, and the threads of the data plane. */
const ENTRIES = [
  'shared/parent/main',
  'dataplane/main',
  'dataplane/traffic/worker/worker',
  'dataplane/access-log/log-thread',
  'dataplane/analytics/history/thread',
  'dataplane/cache/disk/thread',
  'dataplane/tracing/export-thread',
  'controller/main',
];
/** It loads only the command that is called, so each of these has a file of its own. */
const COMMANDS = 'controller/cli/main';

/** Sources find other files from their own address, which a bundle does not have: in it, they still have the one they had. */
const keepAddresses = (outdir: string): Plugin => ({
  name: 'keep-addresses',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const own = JSON.stringify(`./${relative(outdir, path).replace(/\.ts$/, '.js')}`);
      const text = await readFile(path, 'utf8');
      return { contents: text.replaceAll('import.meta.url', `new URL(${own}, import.meta.url).href`), loader: 'ts' };
    });
  },
});

/** Bundles our own files: hundreds of small ones take longer to find and to link than to run. Packages stay in node_modules. */
async function bundle(entry: string, dist: string, splitting: boolean): Promise<void> {
  await build({
    entryPoints: [`${entry}.ts`],
    outdir: join(dist, dirname(entry)),
    plugins: [keepAddresses(resolve(dirname(entry)))],
    bundle: true,
    splitting,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    target: 'node26',
    logLevel: 'warning',
  });
}

/** Builds what an installed package runs. Run from the root of the repository, with the directory to write. */
const [dist = 'dist'] = process.argv.slice(2);
await rm(dist, { recursive: true, force: true });
await Promise.all([...ENTRIES.map((entry) => bundle(entry, dist, false)), bundle(COMMANDS, dist, true)]);
const page = join(dist, 'dataplane/admin/dashboard/page.html');
await mkdir(dirname(page), { recursive: true });
await writeFile(page, await buildPage());
