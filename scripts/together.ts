import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
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

/**
 * Runs test files one after the other in this process, each as a suite of its name, so that Node and the sources are
 * loaded once for all of them. A file that leaves its process other than it was fails. While a file runs, `note` holds
 * its name: that tells which one ended the process.
 */
export async function together(note: string, files: readonly string[]): Promise<void> {
  // A test may wait for what keeps no process alive by itself, such as a folder that is watched.
  const alive = setInterval(() => undefined, HUNG_MS);
  let finished = false;
  process.once('exit', () => {
    if (finished) rmSync(note);
    // A test that calls process.exit(0) would pass for all that were to come.
    else process.exitCode = 1;
  });
  for (const file of files) {
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
