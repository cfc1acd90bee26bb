import { isIPv6 } from 'node:net';
import { wildcardOf } from '../values/host.ts';

/** One entry of OpenSSL's text form of subjectAltName; a value with special characters is quoted. */
const ENTRY = /(?:^|, )(DNS|IP Address):("(?:[^"\\]|\\.)*"|[^,]*)/g;

/**
 * The DNS names and addresses of a subjectAltName in Node's text form: lower case, without duplicates, in order.
 * Quoted names are skipped, since no host name needs quotes.
 */
export function namesOf(subjectAltName: string | undefined): readonly string[] {
  const names = new Set<string>();
  for (const [, kind, value = ''] of (subjectAltName ?? '').matchAll(ENTRY)) {
    if (value === '' || value.startsWith('"')) continue;
    names.add(kind === 'DNS' ? value.toLowerCase() : shortAddress(value));
  }
  return [...names];
}

/** Whether one of `names` covers `name`; a wildcard covers exactly one label (RFC 9525 6.3). `name` in lower case. */
export function covers(names: readonly string[], name: string): boolean {
  if (names.includes(name)) return true;
  const wildcard = wildcardOf(name);
  return wildcard !== undefined && names.includes(wildcard);
}

/** Shortens an IPv6 address (RFC 5952), since OpenSSL writes all groups. */
export function shortAddress(address: string): string {
  return isIPv6(address) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;
}
