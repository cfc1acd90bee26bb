import { isIP } from 'node:net';
import { type Domain, parseDomain } from '../values/host.ts';
import { accepted, type Parsed, refused } from '../values/parsed.ts';
import { readPort } from '../values/port.ts';

/** Where a default certificate is presented: on a port, at one address or at all of them. */
export type DefaultPlace = { readonly address: string | null; readonly port: number };

const PREFIX = '*@';
const FORM = /^\*@(\[[0-9a-f:.]+\]|[0-9.]*):(\d+)$/;

/**
 * In place of a domain: the certificate is presented for every name that has no other one, and to clients that send none. `*@:443` is at
 * any address, `*@192.0.2.1:443` at this one; an IPv6 address is in brackets.
 */
export function defaultNameOf({ address, port }: DefaultPlace): string {
  const host = address === null ? '' : isIP(address) === 6 ? `[${address}]` : address;
  return `${PREFIX}${host}:${port}`;
}

export const isDefaultName = (name: string): boolean => name.startsWith(PREFIX);

/** Reads a name that a certificate is for: a domain, or the form of `defaultNameOf`. */
export function parseCertificateName(text: string): Parsed<string> {
  if (!isDefaultName(text)) return parseDomain(text) as Parsed<Domain>;
  const [, host = '', digits = ''] = FORM.exec(text.toLowerCase()) ?? [];
  const port = readPort(digits);
  if (!port.ok) return refused('a default certificate is for *@:PORT or *@ADDRESS:PORT');
  const address = host.startsWith('[') ? host.slice(1, -1) : host;
  if (address !== '' && isIP(address) === 0) return refused(`"${address}" is not an IP address`);
  return accepted(text.toLowerCase());
}
