import { createHash } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { Script } from 'node:vm';
import { type BuildOptions, build, transform } from 'esbuild';
import { routeSchemaHash } from '../../dataplane/table/disk/saved.ts';
import { ID_LENGTH, withId } from '../../shared/bundle/format.ts';
import { writeCodeCache } from './code-cache.ts';
import { keepAddresses, leaveOutUnused, leavePackages, leaveUnusedModels, requireBuiltins } from './plugins.ts';

/** What loads bundles. */
const LOADER = 'shared/bundle/load';
/** The processes of the service, which live on when a terminal is closed or log files are renamed. */
const SERVICE: ReadonlySet<string> = new Set(['shared/parent/main', 'controller/cli/run/main', 'dataplane/main', 'controller/main']);
/** Without a handler these signals end a process, and loading its bundle takes longer than everything that Node does before. */
const HOLD_SIGNALS = "for (const signal of ['SIGHUP', 'SIGUSR2']) process.on(signal, () => undefined);\n";
/** The only process that contains Express. */
const WITH_EXPRESS = 'dataplane/main';
/** How the URL of a bundle is called in it. */
const URL_NAME = 'importMetaUrl';
/** What all files have in common. Lines are broken, so that positions in stack traces are useful. */
const OUTPUT = { platform: 'node', target: 'node26', minifyWhitespace: true, lineLimit: 120, legalComments: 'none' } satisfies BuildOptions;

/**
 * Bundles our own files and the packages that they always load: hundreds of small files take longer to find and to link than to run.
 * White space and comments are left out, as every thread keeps its source in memory. Names stay, for stack traces.
 *
 * The entry point only loads its bundle: V8 takes a code cache for scripts, but Node has no way to give it one for modules.
 *
 * What V8 has compiled of a bundle when it has only been loaded is its first code cache.
 * @returns the bundled files.
 */
export async function bundle(entry: string, dist: string, splitting: boolean): Promise<string[]> {
  const folder = join(dist, dirname(entry));
  const { metafile, outputFiles } = await build({
    ...OUTPUT,
    entryPoints: [`${entry}.ts`],
    outdir: folder,
    plugins: [
      keepAddresses(resolve(dirname(entry))),
      leavePackages,
      ...(entry === WITH_EXPRESS ? [leaveOutUnused] : []),
      requireBuiltins,
      leaveUnusedModels,
    ],
    bundle: true,
    splitting,
    format: 'esm',
    minifySyntax: true,
    define: { BUILT_ROUTE_SCHEMA_HASH: JSON.stringify(routeSchemaHash()) },
    write: false,
    metafile: true,
    logLevel: 'warning',
  });
  await mkdir(folder, { recursive: true });
  const main = `${basename(entry)}.js`;
  const body = `${basename(entry)}.bundle.js`;
  for (const { path, text } of outputFiles) {
    const name = basename(path);
    const script = await scriptOf(text);
    const file = resolve(folder, name === main ? body : name);
    await writeFile(file, script);
    writeCodeCache(file, script, new Script(script));
  }
  const loader = relative(dirname(entry), `${LOADER}.js`);
  const first = SERVICE.has(entry) ? HOLD_SIGNALS : '';
  await writeFile(join(folder, main), `${first}require(${JSON.stringify(relativePath(loader))}).load(require.resolve('./${body}'));\n`);
  return Object.keys(metafile.inputs);
}

/** Builds what loads bundles, which is the only file that Node itself reads, besides entry points. */
export async function bundleLoader(dist: string): Promise<void> {
  await build({ ...OUTPUT, entryPoints: [`${LOADER}.ts`], outfile: join(dist, `${LOADER}.js`), bundle: true, format: 'cjs' });
  await writeFile(join(dist, 'package.json'), '{ "type": "commonjs" }\n');
}

const relativePath = (path: string): string => (path.startsWith('.') ? path : `./${path}`);

/** The script of a bundle that esbuild has written as a module. It requires what the module imports, whether at once or when it is needed. */
async function scriptOf(text: string): Promise<string> {
  const { code, warnings } = await transform(text, {
    ...OUTPUT,
    format: 'cjs',
    define: { 'import.meta.url': URL_NAME },
    supported: { 'dynamic-import': false },
    // As Node does, the default export of a CommonJS module is then all that it exports.
    sourcefile: 'bundle.mjs',
  });
  if (warnings.length > 0) throw new Error(`esbuild warns of a bundle: ${warnings.map((warning) => warning.text).join('; ')}`);
  // Modules are strict, and scripts are not by themselves.
  const script = `(function(exports,require,module,${URL_NAME}){'use strict';${code}\n})\n`;
  return withId(createHash('sha256').update(script).digest('hex').slice(0, ID_LENGTH), script);
}
