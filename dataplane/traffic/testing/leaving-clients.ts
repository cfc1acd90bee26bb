import { connect as connectPlain } from 'node:net';
import { connect } from 'node:tls';
import { workerData } from 'node:worker_threads';

/**
 * Test support, in a separate thread so that it does not wait for the proxy: clients that reset their connections right after the
 * handshake, thirty at a time.
 */
const { port, clients } = workerData as { readonly port: number; readonly clients: number };

const one = (): Promise<void> =>
  new Promise((resolve) => {
    const raw = connectPlain({ host: '127.0.0.1', port });
    raw.on('error', () => undefined).on('close', () => resolve());
    connect({ socket: raw, servername: 'a.test', rejectUnauthorized: false, minVersion: 'TLSv1.3' })
      .on('error', () => undefined)
      .on('secureConnect', () => setImmediate(() => raw.resetAndDestroy()));
  });

let begun = 0;
await Promise.all(
  Array.from({ length: 30 }, async () => {
    while (begun++ < clients) await one();
  }),
);
