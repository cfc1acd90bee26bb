import { readFileSync } from 'node:fs';

/** The kernel's switch (Linux 5.14 and newer), one for each network namespace. */
const SYSCTL_PATH = '/proc/sys/net/ipv4/tcp_migrate_req';

/**
 * What happens to a connection that waits in the queue of a listener when that is closed: with the switch on, another
 * listener of the same port takes it; with it off, the kernel resets it.
 * @returns advice in one line where it is off; nothing where it is on, or where there is no such switch to turn.
 */
export function tcpMigrationAdvice(path: string = SYSCTL_PATH): string[] {
  if (read(path) !== '0') return [];
  return [
    'net.ipv4.tcp_migrate_req is 0: a few new connections are reset whenever workers or the whole process are replaced; set it with: sysctl -w net.ipv4.tcp_migrate_req=1',
  ];
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch {
    // An older kernel, another system, or a container that shows no such file: nothing that could be advised.
    return null;
  }
}
