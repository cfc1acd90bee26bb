import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe } from 'node:test';
import { pathToFileURL } from 'node:url';

/** How long one file may take before it counts as hung. */
const HUNG_MS = 300_000;

/** What a test can change in its process, by name: the next file of the process would be affected. */
function processState(): ReadonlyMap<string, unknown> {
  const { stdout, stderr, exit, kill, emitWarning } = process;
  return new Map<string, unknown>([
    ...Object.entries(process.env).map(([name, value]) => [`environment variable ${name}`, value] as const),
    ...process.eventNames().map((name) => [`listeners for ${String(name)} of process`, process.listenerCount(name)] as const),
    ...Object.entries({ Date, setTimeout, setInterval, setImmediate, fetch, exit, kill, emitWarning }),
    ...Object.entries({ 'Date.now': Date.now, 'Math.random': Math.random, 'performance.now': performance.now }),
    ...Object.entries({ 'stdout.write': stdout.write, 'stderr.write': stderr.write }),
    ['working directory', process.cwd()],
    ['umask', process.umask()],
  ]);
}

function changed(before: ReadonlyMap<string, unknown>, now: ReadonlyMap<string, unknown>): string[] {
  return [...new Set([...before.keys(), ...now.keys()])].filter((name) => before.get(name) !== now.get(name));
}

/** Whether this process is the first to claim a file: the folder has an empty file for each that is claimed. */
function claim(folder: string, at: number): boolean {
  try {
    writeFileSync(join(folder, `${at}.claimed`), '', { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Runs test files one after the other in this process, each as a suite of its name, so that Node and the sources are
 * loaded once for all of them. Other processes that were given the same folder and files share the work: each claims the
 * next file that is left. A file that leaves its process changed fails. While a file runs, the folder has a `.running`
 * file with its name, which shows what ran when a process ended.
 */
export async function together(folder: string, files: readonly string[]): Promise<void> {
  const note = join(folder, `${process.pid}.running`);
  // A test may wait for something that does not keep a process alive, such as a watched folder.
  const alive = setInterval(() => undefined, HUNG_MS);
  let finished = false;
  process.once('exit', () => {
    if (finished) rmSync(note, { force: true });
    // Otherwise a test that calls process.exit(0) would make all the files after it pass.
    else process.exitCode = 1;
  });
  for (const [at, file] of files.entries()) {
    if (!claim(folder, at)) continue;
    writeFileSync(note, file);
    await describe(file, { timeout: HUNG_MS }, async () => {
      const before = processState();
      await import(pathToFileURL(file).href);
      after(() => assert.deepEqual(changed(before, processState()), [], `${file} leaves these changed for the next file of its process`));
    });
  }
  clearInterval(alive);
  finished = true;
}
