import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { splitAddress } from '../values/address.ts';

/** The parts of a request that say where it comes from; node:http's IncomingMessage has them. */
export type RequestOrigin = {
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly headersDistinct: NodeJS.Dict<string[]>;
};

/** The authority of a target in absolute form, which counts in place of Host (RFC 9112 3.2.2). */
const ABSOLUTE_FORM = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i;

/**
 * Why a request to a service of this machine comes from a page of another site, or null where it doesn't. A page can
 * make a browser send requests to loopback ports and forwarded sockets (CSRF), and by a name that resolves to them
 * read the answers as well (DNS rebinding). Programs that are no browsers send neither Sec-Fetch-Site nor Origin.
 * `names`: host names, in lower case, that the service goes by beside addresses and localhost.
 */
export function foreignRequest({ url, headers, headersDistinct }: RequestOrigin, names: ReadonlySet<string>): string | null {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    return 'a browser sent the request for a page of another site (Sec-Fetch-Site)';
  const target = ABSOLUTE_FORM.exec(url ?? '')?.[1];
  const hosts = [...(headersDistinct.host ?? []), ...(target === undefined ? [] : [target])];
  if (hosts.some((host) => !isOwn(host, names))) return OTHER_NAME;
  // RFC 6454 7.3; browsers send "null" where they hide who asks.
  if (headers.origin !== undefined && !hosts.some((host) => isOriginOf(headers.origin, host)))
    return 'a browser sent the request for a page of another origin (Origin)';
  return null;
}

const OTHER_NAME = 'the host asked for is neither an address, localhost nor a name of this service (Host)';

/** A name of which no foreign page can say where it leads. */
function isOwn(authority: string, names: ReadonlySet<string>): boolean {
  const host = splitAddress(authority.toLowerCase()).host.replace(/\.$/, '');
  const bare = host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  return bare === 'localhost' || isIP(bare) !== 0 || names.has(bare);
}

function isOriginOf(origin: string | undefined, host: string): boolean {
  const page = origin === undefined ? null : URL.parse(origin);
  return page !== null && /^https?:$/.test(page.protocol) && page.host === URL.parse(`${page.protocol}//${host}`)?.host;
}
