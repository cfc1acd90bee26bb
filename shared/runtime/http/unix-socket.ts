import { once } from 'node:events';
import { existsSync, lstatSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';

/** The socket belongs to a process that still accepts connections. */
export class SocketInUseError extends Error {}

/** Only the user who runs the process may connect. */
const OWNER_ONLY = 0o177;

/**
 * Listens on a Unix socket that has mode 0600 from the start. A stale socket at the path is replaced; any other file is left alone.
 * @throws SocketInUseError, or the system's error.
 */
export async function listenUnix(server: Server, path: string): Promise<void> {
  if (existsSync(path)) await removeStale(path);
  // The socket file is created synchronously in this call, so the umask affects nothing else.
  const before = process.umask(OWNER_ONLY);
  const listening = once(server.listen(path), 'listening');
  process.umask(before);
  await listening;
}

async function removeStale(path: string): Promise<void> {
  if (!lstatSync(path).isSocket()) throw new SocketInUseError(`${path} exists and is not a socket`);
  if (await answers(path)) throw new SocketInUseError(`${path} is already in use by another process`);
  unlinkSync(path);
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path);
    probe.once('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'));
  });
}
