import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { splitAddress } from '../../../../shared/values/address.ts';
import { accepted, type Parsed, refused } from '../../../../shared/values/parsed.ts';

/** The address of a container engine: a socket file, or the plain TCP port of a socket proxy. */
export type EngineAddress =
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number };

export const DEFAULT_SOCKET = '/var/run/docker.sock';

const FORMS = 'an engine is a socket path, unix:PATH or tcp://HOST:PORT';

/** `/path`, `unix:PATH`, `unix:///path` or `tcp://HOST:PORT`; the default port is 2375. */
export function parseEngineAddress(text: string): Parsed<EngineAddress> {
  if (text.startsWith('tcp://') || text.startsWith('http://')) return parseTcp(text.slice(text.indexOf('//') + 2).replace(/\/$/, ''));
  if (text.startsWith('ssh://') || text.startsWith('https://'))
    return refused('an engine is reached over a socket or plain tcp://HOST:PORT on a private network, not over ssh or TLS');
  if (/^[^/]+:\d+$/.test(text)) return refused(`${FORMS}: write tcp://${text} for a port`);
  const path = text.replace(/^unix:(?:\/\/)?/, '');
  return path !== '' && !/^[a-z]+:\/\//.test(path) ? accepted({ kind: 'unix', path }) : refused(FORMS);
}

function parseTcp(text: string): Parsed<EngineAddress> {
  const withPort = /:\d+$/.test(text) ? text : `${text}:2375`;
  const { host, port } = splitAddress(withPort);
  if (host === '' || host.includes('/') || Number(port) < 1 || Number(port) > 65_535) return refused(FORMS);
  return accepted({ kind: 'tcp', host, port: Number(port) });
}

/** The default address: `DOCKER_HOST`, else the first socket that exists. */
export function defaultEngineAddress(
  env: Readonly<Record<string, string | undefined>> = process.env,
  exists: (path: string) => boolean = existsSync,
): Parsed<EngineAddress> {
  const named = env.DOCKER_HOST;
  if (named) {
    const parsed = parseEngineAddress(named);
    return parsed.ok ? parsed : refused(`DOCKER_HOST "${named}": ${parsed.reason}`);
  }
  const own = env.XDG_RUNTIME_DIR;
  const candidates = [
    DEFAULT_SOCKET,
    ...(own ? [join(own, 'docker.sock'), join(own, 'podman/podman.sock')] : []),
    '/run/podman/podman.sock',
  ];
  return accepted({ kind: 'unix', path: candidates.find(exists) ?? DEFAULT_SOCKET });
}

/** The address as a user would write it. */
export const formatEngineAddress = (address: EngineAddress): string =>
  address.kind === 'unix' ? address.path : `tcp://${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`;
