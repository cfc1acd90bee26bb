import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

export type Room = 'dataplane' | 'controller';

/** The entry of a process: `.ts` in a checkout, `.js` where it is built. */
export function entryOf(room: Room): string {
  const extension = extname(fileURLToPath(import.meta.url));
  return fileURLToPath(new URL(`../../../${room}/main${extension}`, import.meta.url));
}

export const dataplane = (argv: readonly string[]): Promise<number> => become('dataplane', argv);
export const controller = (argv: readonly string[]): Promise<number> => become('controller', argv);

/** Runs a process in this one's place: same terminal, signals passed on. The launcher does the same without this process. */
function become(room: Room, argv: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [...process.execArgv, entryOf(room), ...argv], { stdio: 'inherit' });
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => child.kill(signal));
  // A terminal sends it to both: this process only has to outlive it.
  process.on('SIGINT', () => undefined);
  return exitOf(child);
}

/** Exit code of a child, 128 and the signal's number for one that was killed. */
export function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
}
