import { isIPv6 } from 'node:net';
import { domainToASCII } from 'node:url';
import { accepted, type Branded, type Parsed, refused } from './parsed.ts';

/** A routable host name in lower case, with at most one leading `*.`; or the catch-all `*`. */
export type Domain = Branded<string, 'Domain'>;

export const CATCH_ALL = '*' as Domain;
/** Characters. */
export const MAX_DOMAIN = 253;
/** Checked before lowercasing: some non-ASCII letters have an ASCII lower case. */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

const BRACKETED = /^\[.*\]/;

/**
 * Reads the domain of a route: 1–253 characters, labels of 1–63 letters, digits and inner hyphens, at most one leading `*.`. IPv4
 * literals and single labels are allowed; ports, schemes and trailing dots are not.
 */
export function parseDomain(text: string): Parsed<Domain> {
  if (text === '') return refused('it is empty');
  if (text.length > MAX_DOMAIN) return refused(`it is longer than ${MAX_DOMAIN} characters`);
  const name = text.startsWith('*.') ? text.slice(2) : text;
  if (name.includes('://')) return refused('a domain must not have a scheme');
  if (name.includes(':'))
    return refused(
      BRACKETED.test(name) || isIPv6(name) ? 'it is an IPv6 address, which cannot be a domain' : 'a domain must not have a port',
    );
  if (name.endsWith('.')) return refused('a domain must not end with a dot');
  if (name.includes('*')) return refused('the only wildcard is one leading "*."');
  for (const label of name.split('.')) {
    if (label === '') return refused('it has an empty label');
    if (label.length > 63) return refused('a label is longer than 63 characters');
    if (!LABEL.test(label)) return refused(`labels consist of letters, digits and inner hyphens${punycodeHint(text, name)}`);
  }
  return accepted(text.toLowerCase() as Domain);
}

/** What requests to a wildcard or to the catch-all may be for, besides domains (RFC 9110 7.2): `my_app.example`, `a..b`. */
const REQUESTED = /^[a-z0-9._-]+$/i;

/** Reads the name under which requests are counted and stored, in lower case: the domain of a route, or the host of a request. */
export function parseHost(text: string): Parsed<string> {
  const domain = parseDomain(text);
  return domain.ok || !isRequested(text) ? domain : accepted(text.toLowerCase());
}

function isRequested(text: string): boolean {
  if (text.length > MAX_DOMAIN) return false;
  return (
    text === CATCH_ALL ||
    REQUESTED.test(text) ||
    (text.startsWith('[') && text.endsWith(']') && !text.includes('%') && isIPv6(text.slice(1, -1)))
  );
}

/** A hint with the Punycode form that browsers send for a name (RFC 5891 4.4, UTS 46); empty if there is none. */
function punycodeHint(text: string, name: string): string {
  if (isAscii(name)) return '';
  const ascii = domainToASCII(name);
  return ascii !== '' && parseDomain(ascii).ok
    ? `; browsers send this name as ${text.startsWith('*.') ? '*.' : ''}${ascii}, so write that`
    : '';
}

const isAscii = (text: string): boolean => Buffer.byteLength(text) === text.length;

/** The wildcard that covers `host` (`a.b.c` → `*.b.c`), or undefined for a single label. */
export function wildcardOf(host: string): string | undefined {
  const dot = host.indexOf('.');
  return dot > 0 && dot < host.length - 1 ? `*${host.slice(dot)}` : undefined;
}
