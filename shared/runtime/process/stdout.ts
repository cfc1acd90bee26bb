import { constants, fstatSync, openSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const STDOUT_FD = 1;
const { O_NOCTTY, O_NONBLOCK, O_WRONLY } = constants;

/**
 * Opens standard output so that writing to a pipe, a socket or a terminal without a reader fails with EAGAIN instead of waiting. It is
 * opened anew where possible, because the flag belongs to the open file, which other processes share. The main thread has to call it first.
 * @returns a descriptor; it may be that of standard output itself.
 */
export function openStdout(): number {
  const stat = fstatSync(STDOUT_FD);
  // A file opened anew would be written from its beginning.
  if (stat.isFile()) return STDOUT_FD;
  try {
    return openSync(`/proc/self/fd/${STDOUT_FD}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
  } catch {
    // A socket, or a pipe that belongs to another user. Node sets the flag when the main thread first uses its stream, and resets it when
    // the process ends.
    if (isMainThread) void process.stdout;
    return STDOUT_FD;
  }
}
