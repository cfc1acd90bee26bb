import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A process, by the folder with its main file. */
type Program = 'dataplane' | 'controller' | 'controller/cli/run';

/** The entry point of a process: `.ts` in a checkout, `.js` when built. */
export function entryOf(program: Program): string {
  const extension = extname(fileURLToPath(import.meta.url));
  return fileURLToPath(new URL(`../../../${program}/main${extension}`, import.meta.url));
}

export const dataplane = (argv: readonly string[]): Promise<number> => become('dataplane', argv);
export const controller = (argv: readonly string[]): Promise<number> => become('controller', argv);
/** Runs a parent process for a launcher with `run` and its flags. */
export const parentOfRun = (argv: readonly string[]): Promise<number> => become('controller/cli/run', argv);

/** Runs a process in place of this one: same terminal, signals passed on. The launcher does the same without an intermediate process. */
function become(program: Program, argv: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, entryOf(program), ...argv], { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => child.kill(signal));
  // A terminal sends the signal to both: this process only has to outlive the other.
  process.on('SIGINT', () => undefined);
  return exitOf(child);
}

/** Exit code of a child: 128 plus the signal number if it was killed. */
function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    // Not once: every signal that can't be passed on is an error event, and one without a listener ends the process.
    child.on('error', reject);
    child.once('close', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}
