import type { Faults } from '../exchange/faults.ts';

/** State shared by exchanges may be inconsistent, so nothing served from it is reliable. */
export class TornStateError extends Error {}

/** @throws TornStateError, whose cause was thrown while the worker applied a publication. */
export function torn(cause: unknown): never {
  throw new TornStateError('a publication could not be applied', { cause });
}

/** The events of a thread's process, and the way to end the thread. */
type Thread = {
  on(event: 'uncaughtException' | 'unhandledRejection', listener: (error: unknown) => void): unknown;
  exit(code: number): unknown;
};

/**
 * Handles uncaught exceptions, mostly from a library's own callbacks: they are logged and counted, and the worker
 * continues. A worker whose state may be torn ends; another takes its place, with all that is published.
 */
export function installBackstop(thread: Thread, faults: Faults): void {
  const handle = (error: unknown): void => {
    const fatal = error instanceof TornStateError;
    faults.note('nothing', fatal ? error.cause : error, { worker_ends: fatal });
    if (fatal) thread.exit(1);
  };
  thread.on('uncaughtException', handle);
  thread.on('unhandledRejection', handle);
}
