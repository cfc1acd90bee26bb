import { existsSync } from 'node:fs';
import { DEFAULT_ADMIN_LISTEN, DEFAULT_ADMIN_SOCKET } from '../name.ts';
import { parseAddress, splitAddress } from '../values/address.ts';
import { isLoopback } from '../values/loopback.ts';
import { accepted, type Parsed, refused } from '../values/parsed.ts';

/** Authorities that verify a certificate, and the file that they came from. */
export type Roots = { readonly path: string; readonly pem: string };

/** Where an Admin API listens. Plain TCP is only for this machine, because the connection carries the token. */
export type AdminAddress =
  | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
  /** `roots` null: Node's own and those of NODE_EXTRA_CA_CERTS. */
  | { readonly kind: 'tls'; readonly host: string; readonly port: number; readonly roots: Roots | null }
  | { readonly kind: 'unix'; readonly path: string };

const OVER_TLS = 'https://';
const FORMS = `HOST:PORT, ${OVER_TLS}HOST:PORT or unix:PATH`;

/** Reads `HOST:PORT` on this machine, `https://HOST:PORT` or `unix:PATH`. */
export function parseAdminAddress(text: string): Parsed<AdminAddress> {
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length);
    return path === '' ? refused('write a socket as unix:PATH') : accepted({ kind: 'unix', path });
  }
  const scheme = /^(https?):\/\//i.exec(text)?.[1]?.toLowerCase();
  const bare = scheme === undefined ? text : text.slice(scheme.length + '://'.length).replace(/\/$/, '');
  if (scheme === 'https') return overTls(bare);
  const { host, port } = splitAddress(bare);
  if (host === '' || !/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) return refused(`an address is ${FORMS}`);
  if (!isLoopback(host)) return refused(inTheClear(bare));
  return scheme === undefined
    ? accepted({ kind: 'tcp', host, port: Number(port) })
    : refused(`an address must not start with http://: write ${bare}`);
}

function overTls(bare: string): Parsed<AdminAddress> {
  if (/[/?#@]/.test(bare)) return refused(`an address over TLS consists of only a host and a port: ${OVER_TLS}HOST:PORT`);
  const { host, port } = splitAddress(bare.toLowerCase());
  // The default port would be 443, where the sites are.
  if (port === '') return refused(`the port is missing: write ${OVER_TLS}${bare}:${splitAddress(DEFAULT_ADMIN_LISTEN).port}`);
  const parsed = parseAddress(bare);
  return parsed.ok ? accepted({ kind: 'tls', host, port: Number(port), roots: null }) : parsed;
}

const inTheClear = (bare: string): string =>
  `the token is never sent to another machine unencrypted; write ${OVER_TLS}${bare}, or forward the port (ssh -L) and use that address`;

/** The same address, with only these authorities trusted for its certificate. */
export const verifiedBy = (address: AdminAddress, roots: Roots | null): AdminAddress =>
  address.kind === 'tls' ? { ...address, roots } : address;

/** The default socket if it exists, else the default TCP address. */
export function defaultAdminAddress(): AdminAddress {
  if (existsSync(DEFAULT_ADMIN_SOCKET)) return { kind: 'unix', path: DEFAULT_ADMIN_SOCKET };
  const { host, port } = splitAddress(DEFAULT_ADMIN_LISTEN);
  return { kind: 'tcp', host, port: Number(port) };
}

export function formatAdminAddress(address: AdminAddress): string {
  if (address.kind === 'unix') return `unix:${address.path}`;
  const host = address.host.includes(':') ? `[${address.host}]` : address.host;
  return `${address.kind === 'tls' ? OVER_TLS : ''}${host}:${address.port}`;
}
