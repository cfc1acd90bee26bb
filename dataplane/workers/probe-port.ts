import { BoundSocket } from 'node:net';

/**
 * Checks that a port is free. Workers share it (`reusePort`), and a second proxy of the same user would share it silently, so this binds once
 * without sharing. With `shared`, those of the same user may have it. It does not listen: it would get connections that it does not answer.
 * @throws the system's error (EADDRINUSE, EACCES …).
 */
export async function probePort(host: string | null, port: number, shared = false): Promise<void> {
  const reusePort = shared && process.platform === 'linux';
  new BoundSocket({ host: host ?? '::', port, reusePort }).close();
}
