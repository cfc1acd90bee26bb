import { createServer } from 'node:net';

/**
 * Checks that a port is free. Workers share it (`reusePort`), and a second proxy of the same user would share it
 * silently, so this binds once without sharing. With `shared`, those of the same user may have it.
 * @throws the system's error (EADDRINUSE, EACCES …).
 */
export function probePort(host: string | null, port: number, shared = false): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    // Not once: a second error without a listener would end the process.
    server.on('error', reject);
    server.listen({ host: host ?? '::', port, reusePort: shared && process.platform === 'linux' }, () => server.close(() => resolve()));
  });
}
