import { isIPv6 } from 'node:net';
import { unquoted } from '../../../../shared/config-file/quote.ts';
import { CATCH_ALL, type Domain, parseDomain } from '../../../../shared/values/host.ts';
import { accepted, type Parsed, refused } from '../../../../shared/values/parsed.ts';
import { readPort } from '../../../../shared/values/port.ts';

/** `port` null: every port that the data plane listens on. */
export type SiteAddress = { readonly domain: Domain; readonly port: number | null };

/** The ports that a file's data plane listens on, the main ones first. */
export type FilePorts = { readonly http: readonly number[]; readonly https: readonly number[] };

/** Reads a site's address: a domain, a wildcard, or `*` for every host without its own site; then perhaps a port. `:8080` is `*:8080`. */
export function parseSiteAddress(text: string, ports: FilePorts | null): Parsed<SiteAddress> {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text);
  if (scheme) return refused(withoutScheme(text.slice(scheme[0].length), scheme[1]?.toLowerCase() === 'http'));
  const path = text.indexOf('/');
  if (path >= 0) return refused(withoutPath(text.slice(0, path), text.slice(path)));
  const colon = text.lastIndexOf(':');
  const isBare = colon < 0 || text.startsWith('[') || isIPv6(text);
  if (isBare) return withPort(text, null);
  const port = readPort(text.slice(colon + 1));
  if (!port.ok) return port;
  const isOpen = ports === null || ports.http.includes(port.value) || ports.https.includes(port.value);
  return isOpen ? withPort(text.slice(0, colon) || CATCH_ALL, port.value) : refused(unopened(port.value, ports));
}

function withPort(host: string, port: number | null): Parsed<SiteAddress> {
  const domain: Parsed<Domain> = host === CATCH_ALL ? accepted(CATCH_ALL) : parseDomain(host);
  return domain.ok ? accepted({ domain: domain.value, port }) : domain;
}

function withoutScheme(rest: string, plain: boolean): string {
  const [address = ''] = rest.split('/', 1);
  const port = /:\d+$/.exec(address)?.[0];
  // With a port of HTTP alone, it is on HTTP alone.
  const only = plain && port === undefined ? ' and, to keep it from HTTPS, "tls off" inside the site' : '';
  const named = plain && port !== undefined ? ', with that port in the global http_port' : '';
  return `a site address has no scheme: write ${shown(address, port)}${named}${only}`;
}

function withoutPath(address: string, path: string): string {
  const inside = path === '/' ? '' : ` and put "handle ${unquoted(path)} { … }" inside the site`;
  return `a site address has no path: write ${shown(address, /:\d+$/.exec(address)?.[0])}${inside}`;
}

/** The address without anything but its domain and its port, which begins with a colon. */
function shown(address: string, port = ''): string {
  const host = address.slice(0, address.length - port.length);
  if (host === '' && port !== '') return port;
  return parseDomain(host).ok ? unquoted(`${host}${port}`) : 'the domain alone';
}

const unopened = (port: number, { http, https }: FilePorts): string =>
  `nothing listens on port ${port}: write "https_port ${[...https, port].join(' ')}" in the globals, or "http_port ${[...http, port].join(' ')}" for plain HTTP`;
