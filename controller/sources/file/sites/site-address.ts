import { unquoted } from '../../../../shared/config-file/quote.ts';
import { CATCH_ALL, type Domain, parseDomain } from '../../../../shared/values/host.ts';
import { accepted, type Parsed, refused } from '../../../../shared/values/parsed.ts';

/** Reads a site's address: a domain, a wildcard, or `*` for every host without its own site. */
export function parseSiteAddress(text: string): Parsed<Domain> {
  if (text === CATCH_ALL) return accepted(CATCH_ALL);
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text);
  if (scheme) return refused(instead('has no scheme', text.slice(scheme[0].length), scheme[1]?.toLowerCase() === 'http'));
  const path = text.indexOf('/');
  if (path >= 0) return refused(instead('has no path', text.slice(0, path), false, text.slice(path)));
  if (text.includes(':')) return refused(portless(text));
  return parseDomain(text);
}

/** What to write for an address with extra text around its domain. */
function instead(what: string, rest: string, plain: boolean, path = ''): string {
  const [host = ''] = rest.split(/[/:]/, 1);
  const write = host === '' || !parseDomain(host).ok ? 'the domain alone' : unquoted(host);
  const inside = path === '' || path === '/' ? '' : ` and put "handle ${unquoted(path)} { … }" inside the site`;
  return `a site address ${what}: write ${write}${plain ? ' and, to keep it from HTTPS, "tls off" inside the site' : inside}`;
}

function portless(text: string): string {
  const [host = ''] = text.split(':', 1);
  const write = host === '' ? '* for every host' : parseDomain(host).ok ? unquoted(host) : 'the domain alone';
  return `a site address has no port: write ${write}; ports are the globals http_port and https_port`;
}
