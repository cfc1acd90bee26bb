import { isIP, isIPv4, isIPv6 } from 'node:net';
import { accepted, type Branded, type Parsed, refused } from './parsed.ts';

/** An upstream's socket address as it was written: `host:port`, IPv6 in brackets, or `unix/` and the path of a socket. */
export type Address = Branded<string, 'Address'>;

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/i;
const ONLY_DIGITS_AND_DOTS = /^[\d.]+$/;

/**
 * Reads `host:port`: an IPv4 literal, an `[IPv6]` literal or a host name, and a port from 1 to 65535.
 * Host names may carry underscores, as container engines hand them out. Nothing is looked up.
 */
export function parseAddress(text: string): Parsed<Address> {
  if (text.includes('://')) return refused('an address has no scheme (expected host:port)');
  const { host, port } = splitAddress(text);
  if (host === '') return refused('it has no host (expected host:port)');
  if (port === '') return refused('it has no port (expected host:port)');
  if (!isPort(port)) return refused('a port is a number from 1 to 65535');
  if (text.startsWith('[')) return isIPv6(host) ? accepted(text as Address) : refused('the brackets hold no IPv6 address');
  if (host.includes(':')) return refused('an IPv6 address stands in brackets: [::1]:8080');
  if (ONLY_DIGITS_AND_DOTS.test(host))
    return isIPv4(host) ? accepted(text as Address) : refused('it looks like an IPv4 address and is none');
  return HOST_NAME.test(host) ? accepted(text as Address) : refused('the host is neither an address nor a host name');
}

/** Where `host:port` stands for a target on the network, this stands for a socket in the file system; its path begins with a slash. */
const UNIX = 'unix/';
/** The kernel's limit, without the terminating zero (bytes; unix(7)). */
const MOST_SOCKET_PATH = 107;

/** Reads where a target is: `host:port`, or `unix//run/app.sock` as Caddy writes it. Nothing is looked up. */
export function parseUpstream(text: string): Parsed<Address> {
  if (!/^unix[/:+@]/i.test(text)) return parseAddress(text);
  const path = text.slice(UNIX.length);
  if (!text.startsWith(UNIX) || !path.startsWith('/'))
    return refused('a socket is written as unix/ and its absolute path: unix//run/app.sock');
  if (/[\s\p{Cc}]/u.test(path)) return refused('the path of a socket has no spaces and no control characters');
  if (path.endsWith('/') || /\/(?:\/|\.\.?(?:\/|$))/.test(path))
    return refused('the path of a socket names a file, without //, /./ and /../');
  if (Buffer.byteLength(path) > MOST_SOCKET_PATH) return refused(`the path of a socket has ${MOST_SOCKET_PATH} bytes at most`);
  return accepted(text as Address);
}

/** The path of a target's socket; null for one on the network. */
export const socketPath = (address: string): string | null => (address.startsWith(`${UNIX}/`) ? address.slice(UNIX.length) : null);

/** What a connection to a target is opened to. */
export function connectOptions(address: string): { path: string } | { host: string; port: number } {
  const path = socketPath(address);
  if (path !== null) return { path };
  const { host, port } = splitAddress(address);
  return { host, port: Number(port) };
}

/** The name that a target's certificate must cover if its route names none: the target's own, else the site's. */
export function certificateName(address: string, domain: string): string {
  const { host } = splitAddress(address);
  return socketPath(address) === null && isIP(host) === 0 ? host : domain;
}

/** The two halves of `host:port`, the host without brackets. Missing halves are empty. */
export function splitAddress(text: string): { host: string; port: string } {
  const colon = text.lastIndexOf(':');
  if (colon < 0 || text.endsWith(']')) return { host: text, port: '' };
  const host = text.slice(0, colon);
  const port = text.slice(colon + 1);
  return host.startsWith('[') && host.endsWith(']') ? { host: host.slice(1, -1), port } : { host, port };
}

const isPort = (text: string): boolean => /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535;
