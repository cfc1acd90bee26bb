import { NAME } from '../shared/name.ts';
import { UsageError } from '../shared/runtime/flags.ts';
import { SocketInUseError } from '../shared/runtime/unix-socket.ts';
import { ListenError } from './workers/worker-pool.ts';

/** An address that can't be had is a matter for whoever started us: one line, with the flag that names another. */
export async function usable(flag: string, open: () => Promise<unknown>, what: string | number): Promise<void> {
  try {
    await open();
  } catch (error) {
    throw new UsageError(`${NAME} dataplane: can't listen on ${what}: ${wordsFor(error)}; name another with ${flag}`);
  }
}

/** The same in the words of a warning. */
export async function inWords(open: () => Promise<void>): Promise<void> {
  try {
    await open();
  } catch (error) {
    throw new Error(wordsFor(error));
  }
}

function wordsFor(error: unknown): string {
  if (error instanceof SocketInUseError) return error.message;
  const code = error instanceof ListenError ? error.code : error instanceof Error && 'code' in error ? error.code : '';
  if (code === 'EADDRINUSE') return 'something else listens there';
  if (code === 'EACCES') return 'permission denied (ports below 1024 need root or the right for them)';
  if (code === 'EADDRNOTAVAIL') return 'this machine has no such address';
  return error instanceof Error ? error.message : String(error);
}
