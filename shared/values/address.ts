import { isIP, isIPv4, isIPv6 } from 'node:net';
import { accepted, type Branded, type Parsed, refused } from './parsed.ts';
import { readPort } from './port.ts';

/** An upstream's socket address in its original form: `host:port`, IPv6 in brackets, or `unix/` and the path of a socket. */
export type Address = Branded<string, 'Address'>;

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/i;
const ONLY_DIGITS_AND_DOTS = /^[\d.]+$/;

/**
 * Reads `host:port`: an IPv4 literal, an `[IPv6]` literal or a host name, and a port from 1 to 65535. Host names may contain underscores,
 * as in the names that container engines assign. Nothing is resolved.
 */
export function parseAddress(text: string): Parsed<Address> {
  if (text.includes('://')) return refused('an address must not have a scheme (expected host:port)');
  const { host, port } = splitAddress(text);
  if (host === '') return refused('the host is missing (expected host:port)');
  if (port === '') return refused('the port is missing (expected host:port)');
  const number = readPort(port);
  if (!number.ok) return number;
  if (text.startsWith('[')) return isIPv6(host) ? accepted(text as Address) : refused('the text in brackets is not an IPv6 address');
  if (host.includes(':')) return refused('an IPv6 address must be in brackets: [::1]:8080');
  if (ONLY_DIGITS_AND_DOTS.test(host))
    return isIPv4(host) ? accepted(text as Address) : refused('it looks like an IPv4 address but is not valid');
  return HOST_NAME.test(host) ? accepted(text as Address) : refused('the host is neither an address nor a host name');
}

/** The prefix of a target at a Unix socket instead of `host:port`; its path begins with a slash. */
const UNIX = 'unix/';
/** The kernel's limit, without the terminating zero (bytes; unix(7)). */
const MAX_SOCKET_PATH = 107;

/** Reads a target's address: `host:port`, or `unix//run/app.sock` as in Caddy. Nothing is resolved. */
export function parseUpstream(text: string): Parsed<Address> {
  if (!/^unix[/:+@]/i.test(text)) return parseAddress(text);
  const path = text.slice(UNIX.length);
  if (!text.startsWith(UNIX) || !path.startsWith('/'))
    return refused('write a socket as unix/ followed by its absolute path: unix//run/app.sock');
  if (/[\s\p{Cc}]/u.test(path)) return refused('a socket path must not contain spaces or control characters');
  if (path.endsWith('/') || /\/(?:\/|\.\.?(?:\/|$))/.test(path))
    return refused('a socket path must name a file and must not contain //, /./ or /../');
  if (Buffer.byteLength(path) > MAX_SOCKET_PATH) return refused(`a socket path is at most ${MAX_SOCKET_PATH} bytes long`);
  return accepted(text as Address);
}

/** The path of a target's Unix socket; null for a network target. */
export const socketPath = (address: string): string | null => (address.startsWith(`${UNIX}/`) ? address.slice(UNIX.length) : null);

/** The options for connecting to a target. */
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
