import { request } from 'node:http';
import { createServer } from 'node:net';

/** Whether something else listens on the loopback port. */
export function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(true));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(false)));
  });
}

/** The status of a GET for a host on a loopback port; 0 when nobody answers. */
export function statusOf(port: number, host: string, path: string): Promise<number> {
  return new Promise((resolve) => {
    const sent = request({ host: '127.0.0.1', port, path, headers: { host }, agent: false, timeout: 2_000 }, (response) => {
      response.resume();
      response.once('close', () => resolve(response.statusCode ?? 0));
    });
    sent.once('timeout', () => sent.destroy());
    sent.once('error', () => resolve(0));
    sent.end();
  });
}
