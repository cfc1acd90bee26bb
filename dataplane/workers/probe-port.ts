import { createServer } from 'node:net';

/**
 * Whether nobody else listens on a port. The workers share theirs (`reusePort`), and so would a second
 * proxy of the same user, silently; so one bind without sharing comes first.
 * @throws the system's error (EADDRINUSE, EACCES …).
 */
export function probePort(host: string | null, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ host: host ?? '::', port }, () => server.close(() => resolve()));
  });
}
