import { once } from 'node:events';
import { existsSync, lstatSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname } from 'node:path';
import { codeOf } from '../error-code.ts';
import { PROCESS_USER } from '../process/process-user.ts';

/** A Unix socket can't be used: its message says why, with the path, and what to do. */
export class UnusableSocketError extends Error {}

/** Only the user who runs the process may connect. */
const OWNER_ONLY = 0o177;
const DENIED = new Set(['EACCES', 'EPERM']);

/**
 * Listens on a Unix socket that has mode 0600 from the start. A stale socket at the path is replaced; any other file is left alone.
 * @throws UnusableSocketError, or the system's error.
 */
export async function listenUnix(server: Server, path: string): Promise<void> {
  try {
    await removeStale(path);
    // The socket file is created synchronously in this call, so the umask affects nothing else.
    const before = process.umask(OWNER_ONLY);
    const listening = once(server.listen(path), 'listening');
    process.umask(before);
    await listening;
  } catch (error) {
    if (!isDenied(error)) throw error;
    const folder = dirname(path);
    // The system's error is the same for a directory that doesn't exist (uv_pipe_bind).
    const why = existsSync(folder) ? ` by ${PROCESS_USER}, who may not write to ${folder}` : `: there is no directory ${folder}`;
    throw new UnusableSocketError(`${path} can't be created${why}`);
  }
}

/** Says that this process may not connect to a socket, and whose that is. */
export function inaccessible(path: string): string {
  const owner = ownerOf(path);
  return `${PROCESS_USER} may not connect to ${path}${owner === null ? '' : `, which belongs to the user ${owner}`}`;
}

/** null if that is unknown, or this user. */
function ownerOf(path: string): number | null {
  try {
    const { uid } = lstatSync(path);
    return uid === process.geteuid?.() ? null : uid;
  } catch {
    // The directory may not be read either.
    return null;
  }
}

async function removeStale(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) throw new UnusableSocketError(`${path} exists and is not a socket`);
  const use = await useOf(path);
  if (use === 'unknown') throw new UnusableSocketError(`${inaccessible(path)}; if no process uses it, remove it`);
  if (use === 'used') throw new UnusableSocketError(`${path} is already in use by another process`);
  try {
    unlinkSync(path);
  } catch (error) {
    if (!isDenied(error)) throw error;
    throw new UnusableSocketError(`${path} is left from a process that has ended, and ${PROCESS_USER} may not remove it: remove the file`);
  }
}

/** `unknown` if this process may not connect to it. */
function useOf(path: string): Promise<'used' | 'stale' | 'unknown'> {
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once('connect', () => {
      probe.destroy();
      resolve('used');
    });
    probe.once('error', (error: NodeJS.ErrnoException) => {
      if (isDenied(error)) resolve('unknown');
      else resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT' ? 'used' : 'stale');
    });
  });
}

/** Whether the user may not do it. */
export const isDenied = (error: unknown): boolean => DENIED.has(codeOf(error));
