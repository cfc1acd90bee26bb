import type { Role } from '../fields.ts';

/**
 * What must become of a field section, worked out a second time and the slow way: from the list of names
 * and values that llhttp made of it, with the rules written as lists.
 */
export type Expected = {
  /** `name: value` in lower case names, in order. */
  readonly kept: readonly string[];
  readonly length: number;
  readonly chunked: boolean;
  readonly host: string | null;
  readonly close: boolean;
  readonly keepAlive: boolean;
};

/** RFC 9110 7.6.1 and 6.6.2, RFC 9112 9.3 and what became obsolete before them. */
const HOP_BY_HOP = new Set(
  'connection content-length http2-settings keep-alive proxy-authenticate proxy-authorization proxy-connection te transfer-encoding upgrade'.split(
    ' ',
  ),
);
/** What only the proxy may say to an upstream, and `Proxy`, which a CGI would obey. */
const OURS = new Set(
  'forwarded proxy x-forwarded-for x-forwarded-host x-forwarded-port x-forwarded-proto x-forwarded-server x-forwarded-ssl x-real-ip x-request-id'.split(
    ' ',
  ),
);
const SPELLED_ALIKE = new Set([...OURS, 'content-length', 'transfer-encoding']);
const NOT_NOMINABLE = new Set(
  'authorization close cookie host keep-alive upgrade x-forwarded-for x-forwarded-host x-forwarded-proto x-real-ip x-request-id'.split(' '),
);
/** Never from trailers (RFC 9110 6.5.1). */
const HEAD_ONLY = new Set(
  'authorization cache-control content-encoding content-range content-type cookie expect max-forwards range set-cookie trailer'.split(' '),
);

/** `fields`: names and values in turn. */
export function expectedOf(fields: readonly string[], role: Role, trailers = false): Expected {
  const pairs: { readonly name: string; readonly value: string }[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) pairs.push({ name: (fields[at] ?? '').toLowerCase(), value: fields[at + 1] ?? '' });
  const firstOf = (name: string): string | null => pairs.find((pair) => pair.name === name)?.value ?? null;
  const options = pairs.filter(({ name }) => name === 'connection').flatMap(({ value }) => value.toLowerCase().split(/[ \t]*,[ \t]*/));
  const nominated = new Set(options.filter((option) => !NOT_NOMINABLE.has(option)));
  const goesOn = ({ name }: { readonly name: string }): boolean => {
    if (HOP_BY_HOP.has(name) || nominated.has(name) || (trailers && HEAD_ONLY.has(name))) return false;
    return role === 'response' || !(OURS.has(name) || (name.includes('_') && SPELLED_ALIKE.has(name.replaceAll('_', '-'))));
  };
  return {
    kept: pairs.filter(goesOn).map(({ name, value }) => `${name}: ${value}`),
    length: Number(firstOf('content-length') ?? -1),
    chunked: firstOf('transfer-encoding')?.toLowerCase() === 'chunked',
    host: firstOf('host'),
    close: options.includes('close'),
    keepAlive: options.includes('keep-alive'),
  };
}

/** `kept` lines in the form of `Expected.kept`. */
export function linesOf(kept: string): readonly string[] {
  if (kept === '') return [];
  if (!kept.endsWith('\r\n')) throw new Error('the kept lines do not end with CRLF');
  return kept
    .slice(0, -2)
    .split('\r\n')
    .map((line) => {
      const colon = line.indexOf(':');
      return `${line.slice(0, colon).toLowerCase()}: ${line
        .slice(colon + 1)
        .replace(/^[ \t]+/, '')
        .replace(/[ \t]+$/, '')}`;
    });
}

/** The target that goes on, from the one that was sent (RFC 9112 3.2). */
export function expectedTarget(method: string, sent: string): string {
  if (sent.startsWith('/') || sent === '*') return sent;
  const afterAuthority = sent.slice('://'.length + sent.indexOf('://')).replace(/^[^/?]*/, '');
  if (afterAuthority === '') return method === 'OPTIONS' ? '*' : '/';
  return afterAuthority.startsWith('?') ? `/${afterAuthority}` : afterAuthority;
}
