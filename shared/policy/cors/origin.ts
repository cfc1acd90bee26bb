import { isIP } from 'node:net';
import { parseDomain } from '../../values/host.ts';
import { accepted, type Parsed, refused } from '../../values/parsed.ts';

/** Any origin. */
export const ANY_ORIGIN = '*';

/**
 * Reads an origin as browsers send it (RFC 6454 6.2): scheme, host and, unless it is the scheme's default, port. The host may be `*.` and a
 * domain, or `*` without a port for any host and port. `*` is any origin.
 */
export function parseOrigin(text: string): Parsed<string> {
  if (text === ANY_ORIGIN) return accepted(text);
  const lower = text.toLowerCase();
  if (/^https?:\/\/\*$/.test(lower)) return accepted(lower);
  const [, scheme = '', host = '', port] = /^(https?):\/\/(\[[0-9a-f:.]+\]|[^/:?#@[\]]+)(?::(\d{1,5}))?$/.exec(lower) ?? [];
  if (scheme === '') return refused('an origin is a scheme and a host, such as https://app.example.com, without a path');
  const isAddress = isIP(host.replace(/^\[|\]$/g, '')) !== 0;
  const domain = isAddress ? accepted(host) : parseDomain(host);
  if (!domain.ok) return domain;
  if (port === (scheme === 'https' ? '443' : '80')) return refused(`browsers leave out the default port: write ${scheme}://${host}`);
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) return refused('a port is a number from 1 to 65535');
  return accepted(lower);
}
