import { caddy } from './caddy.ts';
import type { Contender, Task } from './contender.ts';
import { haproxy } from './haproxy.ts';
import { nginx } from './nginx.ts';
import { pathOf, versionOf } from './programs.ts';
import { traefik } from './traefik.ts';

const KNOWN = {
  nginx: { start: nginx, version: ['-v'] },
  haproxy: { start: haproxy, version: ['-v'] },
  caddy: { start: caddy, version: ['version'] },
  traefik: { start: traefik, version: ['version'] },
} as const;

export type PeerName = keyof typeof KNOWN;
export const PEER_NAMES = Object.keys(KNOWN) as PeerName[];

/** Another proxy that is installed here. */
export type Peer = { readonly name: PeerName; readonly version: string | null; start(task: Task): Promise<Contender> };

/** Those of the named proxies that are installed here. */
export function peersHere(names: readonly PeerName[] = PEER_NAMES): Peer[] {
  return names.flatMap((name) => {
    const path = pathOf(name);
    if (path === null) return [];
    const { start, version } = KNOWN[name];
    return [{ name, version: versionOf(path, ...version), start: (task: Task) => start(path, task) }];
  });
}
