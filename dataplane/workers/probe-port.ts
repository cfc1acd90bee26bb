import { BoundSocket } from 'node:net';
import { codeOf } from '../../shared/runtime/error-code.ts';

/**
 * Checks that a port is free. Workers share it (`reusePort`), and a second proxy of the same user would share it silently, so this binds once
 * without sharing. With `shared`, those of the same user may have it. It does not listen: it would get connections that it does not answer.
 * @throws the system's error (EADDRINUSE, EACCES …).
 */
export async function probePort(host: string | null, port: number, shared = false): Promise<void> {
  const reusePort = shared && process.platform === 'linux';
  try {
    new BoundSocket({ host: host ?? '::', port, reusePort }).close();
  } catch (error) {
    // As for workers, a machine without IPv6 still has every IPv4 address.
    if (host !== null || !WITHOUT_IPV6.has(codeOf(error))) throw error;
    new BoundSocket({ host: '0.0.0.0', port, reusePort }).close();
  }
}

const WITHOUT_IPV6: ReadonlySet<string> = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL']);
