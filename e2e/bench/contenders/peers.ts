import { caddy } from './caddy.ts';
import type { Contender, Task } from './contender.ts';
import { haproxy } from './haproxy.ts';
import { nginx } from './nginx.ts';
import { pathOf, versionOf } from './programs.ts';
import { traefik } from './traefik.ts';

const PROXIES = {
  nginx: { start: nginx, version: ['-v'] },
  haproxy: { start: haproxy, version: ['-v'] },
  caddy: { start: caddy, version: ['version'] },
  traefik: { start: traefik, version: ['version'] },
} as const;

export type PeerName = keyof typeof PROXIES;
export const PEER_NAMES = Object.keys(PROXIES) as PeerName[];

/** Another proxy, installed on this machine. */
export type InstalledProxy = { readonly name: PeerName; readonly version: string | null; start(task: Task): Promise<Contender> };

/** Those of the named proxies that are installed on this machine. */
export function installedProxies(names: readonly PeerName[] = PEER_NAMES): InstalledProxy[] {
  return names.flatMap((name) => {
    const path = pathOf(name);
    if (path === null) return [];
    const { start, version } = PROXIES[name];
    return [{ name, version: versionOf(path, ...version), start: (task: Task) => start(path, task) }];
  });
}
