import { Resolver } from 'node:dns/promises';
import { connect, isIPv4 } from 'node:net';
import type { Clock } from '../../../../shared/runtime/clock.ts';

/** Time limit for the whole check (ms). Only a failed order waits for it. */
const TIMEOUT_MS = 3_000;
/** Authorities connect to this port (RFC 8555 8.3). */
const HTTP_PORT = 80;
/** Addresses not reachable from the internet: private (RFC 1918), shared (RFC 6598), link-local, unique local (RFC 4193). */
const PRIVATE =
  /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|169\.254\.|127\.|f[cd]|fe[89ab]|::1$)/i;

export type PreflightTools = {
  readonly clock: Clock;
  /** The addresses of a name; empty if it does not exist. @throws if the lookup fails. */
  resolve(name: string): Promise<readonly string[]>;
  /** Why connections to a port fail; null if they succeed or time out. */
  tryConnect(address: string, port: number): Promise<string | null>;
  /** The addresses of this machine. */
  addresses(): readonly string[];
  /** Our plain HTTP port. */
  httpPort(): number;
};

/** A hint why an authority will probably be unable to connect to a name, as far as we can tell from here. null: nothing found. */
export function preflight(name: string, tools: PreflightTools): Promise<string | null> {
  if (name.startsWith('*.')) return Promise.resolve(null);
  return new Promise((resolve) => {
    const cancel = tools.clock.after(TIMEOUT_MS, () => resolve(null));
    check(name, tools)
      .catch((error: unknown) => `${name} can't be resolved here (${codeOf(error)})`)
      .then(resolve)
      .finally(cancel);
  });
}

async function check(name: string, tools: PreflightTools): Promise<string | null> {
  const found = await tools.resolve(name);
  const own = tools.addresses();
  const outside = own.filter((address) => !PRIVATE.test(address));
  if (found.length === 0)
    return `${name} does not resolve here; set its address record to the public address of this machine${inBrackets(outside)}`;
  const elsewhere = found.filter((address) => !own.includes(address));
  const [first] = elsewhere;
  if (first === undefined) return portHint(tools.httpPort());
  const closed = await tools.tryConnect(first, HTTP_PORT);
  const there = closed === null ? '' : `; port ${HTTP_PORT} of ${first}: ${closed}`;
  const also = elsewhere.length < found.length ? ' also' : '';
  const to = `${name} resolves${also} to ${elsewhere.join(', ')}`;
  if (outside.some((address) => isIPv4(address) === isIPv4(first)))
    return `${to}, which is not an address of this machine${inBrackets(own)}${there}`;
  return `${to}, whose port ${HTTP_PORT} has to be forwarded to port ${tools.httpPort()} of this machine${inBrackets(own)}${there}`;
}

const portHint = (port: number): string | null =>
  port === HTTP_PORT
    ? null
    : `authorities connect to port ${HTTP_PORT}, which has to be forwarded to port ${port} of this machine (--http-port)`;

const inBrackets = (addresses: readonly string[]): string => (addresses.length === 0 ? '' : ` (${addresses.join(', ')})`);

/** Resolves A and AAAA with the system's name servers. @throws the resolver's error. */
export async function resolveName(name: string): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: 1 });
  const lookups = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const found = lookups.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  const failed = lookups.find((one) => one.status === 'rejected' && !NOT_THERE.has(codeOf(one.reason)));
  if (found.length === 0 && failed?.status === 'rejected') throw failed.reason;
  return found;
}

const NOT_THERE: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);
const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : String(error));

/** Reports only refused connections: a timeout may be caused by NAT without hairpinning on our side. */
export function tryConnect(address: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, timeout: TIMEOUT_MS });
    const end = (reason: string | null): void => {
      socket.destroy();
      resolve(reason);
    };
    socket
      .on('connect', () => end(null))
      .on('timeout', () => end(null))
      .on('error', (error) => end(codeOf(error) === 'ECONNREFUSED' ? 'connection refused' : null));
  });
}
