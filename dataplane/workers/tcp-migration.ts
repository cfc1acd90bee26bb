import { readFileSync } from 'node:fs';

/** The sysctl (Linux 5.14 and newer), per network namespace. */
const SYSCTL_PATH = '/proc/sys/net/ipv4/tcp_migrate_req';

/**
 * When a listening socket closes that no other process or worker has, connections in its accept queue migrate to another listener of the
 * same port if the sysctl is 1; otherwise the kernel resets them. A worker that is replaced passes its socket on; one that dies cannot.
 * @returns advice in one line if it is 0; nothing if it is 1 or does not exist.
 */
export function tcpMigrationAdvice(path: string = SYSCTL_PATH): string[] {
  if (read(path) !== '0') return [];
  return [
    'net.ipv4.tcp_migrate_req is 0: a few new connections are reset if a worker dies, or if an upgrade starts fewer workers; set it with: sysctl -w net.ipv4.tcp_migrate_req=1',
  ];
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch {
    // An older kernel, another system, or a container without this file: no advice to give.
    return null;
  }
}
