import { createServer } from 'node:net';

/** Ports below the range from which the system takes those of outgoing connections, so that nothing grabs one in between. */
let next = 11_000 + (process.pid % 2_000) * 8;

/** A port of 127.0.0.1 that nothing listens on. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 200; tries++) {
    const port = next++;
    if (next > 32_000) next = 11_000;
    if (await isFree(port)) return port;
  }
  throw new Error('no free port between 11000 and 32000');
}

/** Whether nothing listens on a port of 127.0.0.1. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
