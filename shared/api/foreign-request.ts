import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { splitAddress } from '../values/address.ts';

/** The parts of a request that reveal its origin; node:http's IncomingMessage has them. */
export type RequestOrigin = {
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly headersDistinct: NodeJS.Dict<string[]>;
};

/**
 * The hosts by which a service is known: lower case, without port, brackets and trailing dot. `otherName` is the reason for rejecting
 * others.
 */
export type KnownBy = { readonly knows: (host: string) => boolean; readonly otherName: string };

/**
 * A service of this machine. No foreign page can control where localhost and addresses lead. `names`, in lower case, are its further
 * names.
 */
export const onThisMachine = (names: readonly string[]): KnownBy => ({
  knows: (host) => host === 'localhost' || isIP(host) !== 0 || names.includes(host),
  otherName: 'the requested host is neither an address nor localhost nor a name of this service (Host)',
});

/** As clients name a socket that has no host: `unix`, `docker`, or nothing. */
const PLACEHOLDER = /^[a-z0-9_-]*$/;

/** A service on a Unix socket. Names on the internet have a dot, and no browser leaves the name out. */
export const onSocket: KnownBy = {
  knows: (host) => PLACEHOLDER.test(host) || isIP(host) !== 0,
  otherName: 'the requested host is neither an address nor a name without a dot (Host)',
};

/** The authority of a target in absolute form, which replaces Host (RFC 9112 3.2.2). */
const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i;

/**
 * Detects requests that a browser sends for another site. Returns the reason, or null. A page can make a browser send requests to
 * loopback ports and forwarded sockets (CSRF), and read the responses through a name that resolves to them (DNS rebinding). Other
 * programs send neither Sec-Fetch-Site nor Origin.
 */
export function foreignRequest({ url, headers, headersDistinct }: RequestOrigin, { knows, otherName }: KnownBy): string | null {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    return 'a browser sent the request for a page of another site (Sec-Fetch-Site)';
  const target = ABSOLUTE_FORM.exec(url ?? '')?.[1];
  const hosts = [...(headersDistinct.host ?? []), ...(target === undefined ? [] : [target])];
  if (hosts.some((host) => !knows(bareHost(host)))) return otherName;
  // RFC 6454 7.3; browsers send "null" to hide the origin.
  if (headers.origin !== undefined && !hosts.some((host) => isOriginOf(headers.origin, host)))
    return 'a browser sent the request for a page of another origin (Origin)';
  return null;
}

function bareHost(authority: string): string {
  const host = splitAddress(authority.toLowerCase()).host.replace(/\.$/, '');
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}

function isOriginOf(origin: string | undefined, host: string): boolean {
  const page = origin === undefined ? null : URL.parse(origin);
  return page !== null && /^https?:$/.test(page.protocol) && page.host === URL.parse(`${page.protocol}//${host}`)?.host;
}
