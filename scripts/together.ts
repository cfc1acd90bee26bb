import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe } from 'node:test';
import { pathToFileURL } from 'node:url';

/** How long one file may take: whatever takes longer hangs. */
const HUNG_MS = 300_000;

/** What a test can change in its process, by name. The next test would find it changed. */
function surroundings(): ReadonlyMap<string, unknown> {
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

/** Whether this process is the first to take a file: the folder holds a mark for each that is taken. */
function takes(folder: string, at: number): boolean {
  try {
    writeFileSync(join(folder, `${at}.taken`), '', { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Runs test files one after the other in this process, each as a suite of its name, so that Node and the sources are
 * loaded once for all of them. Other processes that were given the same folder and files share the work: each takes the
 * next file that is left. A file that leaves its process other than it was fails. While one runs, its name is in the
 * folder, in a file that ends in `.running`: that tells which one ended the process.
 */
export async function together(folder: string, files: readonly string[]): Promise<void> {
  const note = join(folder, `${process.pid}.running`);
  // A test may wait for what keeps no process alive by itself, such as a folder that is watched.
  const alive = setInterval(() => undefined, HUNG_MS);
  let finished = false;
  process.once('exit', () => {
    if (finished) rmSync(note, { force: true });
    // A test that calls process.exit(0) would pass for all that were to come.
    else process.exitCode = 1;
  });
  for (const [at, file] of files.entries()) {
    if (!takes(folder, at)) continue;
    writeFileSync(note, file);
    await describe(file, { timeout: HUNG_MS }, async () => {
      const before = surroundings();
      await import(pathToFileURL(file).href);
      after(() => assert.deepEqual(changed(before, surroundings()), [], `${file} leaves these changed for the next file of its process`));
    });
  }
  clearInterval(alive);
  finished = true;
}
