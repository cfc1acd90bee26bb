import { readFileSync } from 'node:fs';

/** Per second, in /proc. */
const TICKS = 100;
const KEEPALIVE = '02';

/**
 * In how many seconds the system will probe whether the other side of an idle connection on loopback is still there; null if it won't.
 * See proc_net_tcp.txt of Linux.
 */
export function probedIn(localPort: number | undefined, remotePort: number | undefined): number | null {
  const [local, remote] = [localPort, remotePort].map((port = 0) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`);
  for (const line of readFileSync('/proc/net/tcp', 'latin1').split('\n')) {
    const [, own = '', other = '', , , timer = ''] = line.trim().split(/\s+/);
    if (!own.endsWith(`${local}`) || !other.endsWith(`${remote}`)) continue;
    const [kind, ticks = ''] = timer.split(':');
    return kind === KEEPALIVE ? Number.parseInt(ticks, 16) / TICKS : null;
  }
  return null;
}
