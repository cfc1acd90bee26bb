import { isIPv6 } from 'node:net';
import { wildcardOf } from '../values/host.ts';

/** One entry of what OpenSSL writes for subjectAltName; a value with odd bytes stands in quotes. */
const ENTRY = /(?:^|, )(DNS|IP Address):("(?:[^"\\]|\\.)*"|[^,]*)/g;

/**
 * The DNS names and addresses of a subjectAltName in Node's text form: lower case, each once, in their order.
 * Names with bytes that no host name has are left out.
 */
export function namesOf(subjectAltName: string | undefined): readonly string[] {
  const names = new Set<string>();
  for (const [, kind, value = ''] of (subjectAltName ?? '').matchAll(ENTRY)) {
    if (value === '' || value.startsWith('"')) continue;
    names.add(kind === 'DNS' ? value.toLowerCase() : shortAddress(value));
  }
  return [...names];
}

/** Whether one of `names` stands for `name`, a wildcard for exactly one label (RFC 9525 6.3). `name` in lower case. */
export function covers(names: readonly string[], name: string): boolean {
  if (names.includes(name)) return true;
  const wildcard = wildcardOf(name);
  return wildcard !== undefined && names.includes(wildcard);
}

/** OpenSSL writes all groups of an IPv6 address; everybody else the short form (RFC 5952). */
export function shortAddress(address: string): string {
  return isIPv6(address) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;
}
