import { connect } from 'node:tls';
import { parentPort, workerData } from 'node:worker_threads';

/**
 * Test support, in a separate thread so that it does not wait for the proxy: clients, one after the other, that present no certificate.
 * `sent` is 1 while one has sent its part of the handshake and waits. Posts what ended each connection.
 */
const { port, servername, clients, sent } = workerData as {
  readonly port: number;
  readonly servername: string;
  readonly clients: number;
  readonly sent: Int32Array;
};

function announce(value: 0 | 1): void {
  Atomics.store(sent, 0, value);
  Atomics.notify(sent, 0);
}

const one = (): Promise<string> =>
  new Promise((resolve) => {
    let reason = 'closed without an alert';
    connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false, minVersion: 'TLSv1.3' })
      .on('secureConnect', () => announce(1))
      .on('error', ({ message }) => {
        reason = message;
      })
      .on('close', () => resolve(reason))
      .resume();
  });

for (let count = 0; count < clients; count++) {
  announce(0);
  parentPort?.postMessage(await one());
}
