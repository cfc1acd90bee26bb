import type { Faults } from '../exchange/faults.ts';

/** What no exchange owns may be half changed: nothing that is served from it is to be relied on. */
export class TornStateError extends Error {}

/** @throws TornStateError, with what was thrown while the worker took in what is published. */
export function torn(cause: unknown): never {
  throw new TornStateError('what was published could not be taken in', { cause });
}

/** The events of a thread's process, and the way to end the thread. */
type Thread = {
  on(event: 'uncaughtException' | 'unhandledRejection', listener: (error: unknown) => void): unknown;
  exit(code: number): unknown;
};

/**
 * What was thrown where nobody answers for it, in a library's own callbacks mostly: logged and counted, and the worker goes
 * on. A worker whose state may be torn ends; another takes its place, with all that is published.
 */
export function holdBackstop(thread: Thread, faults: Faults): void {
  const hear = (error: unknown): void => {
    const fatal = error instanceof TornStateError;
    faults.note('nothing', fatal ? error.cause : error, { worker_ends: fatal });
    if (fatal) thread.exit(1);
  };
  thread.on('uncaughtException', hear);
  thread.on('unhandledRejection', hear);
}
