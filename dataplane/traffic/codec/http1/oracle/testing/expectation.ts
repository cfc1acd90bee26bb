import type { Direction } from './reading.ts';

/**
 * The expected result for a field section, computed independently and slowly: from llhttp's list of names and values, with the rules
 * written as lists.
 */
export type Expected = {
  /** `name: value` with names in lower case, in order. */
  readonly kept: readonly string[];
  readonly length: number;
  readonly chunked: boolean;
  readonly host: string | null;
  readonly close: boolean;
  readonly keepAlive: boolean;
};

/** RFC 9110 7.6.1 and 6.6.2, RFC 9112 9.3, and fields that became obsolete before them. */
const HOP_BY_HOP = new Set(
  'connection content-length http2-settings keep-alive proxy-authenticate proxy-authorization proxy-connection te transfer-encoding upgrade'.split(
    ' ',
  ),
);
/** Fields that only a proxy may send to an upstream, besides every `X-Forwarded-*`, and `Proxy`, which a CGI program would obey. */
const OURS = new Set(
  `forwarded proxy x-real-ip x-request-id front-end-https x-scheme x-url-scheme x-http-host-override x-original-host x-original-uri
  x-original-url x-rewrite-url client-cert client-cert-chain cf-connecting-ip cf-connecting-ipv6 client-ip fastly-client-ip true-client-ip
  x-client-ip x-cluster-client-ip x-original-forwarded-for`.split(/\s+/),
);
const isOurs = (name: string): boolean => OURS.has(name) || name.startsWith('x-forwarded-');
/** The name as a server folds it into a variable, written with hyphens (RFC 3875 4.1.18). */
const folded = (name: string): string => name.replace(/[^a-z0-9]/g, '-');
const FRAMING = ['content-length', 'transfer-encoding'];
const NOT_NOMINABLE = new Set(
  'authorization close cookie host keep-alive upgrade x-forwarded-for x-forwarded-host x-forwarded-proto x-real-ip x-request-id'.split(' '),
);
/** Never accepted from trailers (RFC 9110 6.5.1). */
const HEAD_ONLY = new Set(
  `accept accept-charset accept-encoding accept-language accept-ranges age authorization cache-control content-disposition
  content-encoding content-language content-location content-range content-security-policy content-type cookie date expect expires
  if-match if-modified-since if-none-match if-range if-unmodified-since location max-forwards origin pragma range referer refresh
  retry-after set-cookie strict-transport-security trailer vary www-authenticate x-content-type-options x-frame-options`.split(/\s+/),
);
/** What some servers treat as white space although HTTP does not, after `toString` has decoded UTF-8 or Latin-1. */
const isBlank = (text: string): boolean => text !== '' && !/[ \t]/.test(text) && (text.trim() === '' || /[\x85\u200b]/.test(text));
/** Whether a trailer is dropped because of how its value begins or ends. */
const hasBlankEdge = (value: string): boolean => {
  const utf8 = [...Buffer.from(value, 'latin1').toString('utf8')];
  if (isBlank(utf8[0] ?? '') || isBlank(utf8.at(-1) ?? '')) return true;
  const stray = (char: string | undefined): boolean => char === '\ufffd';
  return (stray(utf8[0]) && isBlank(value[0] ?? '')) || (stray(utf8.at(-1)) && isBlank(value.at(-1) ?? ''));
};

/** `fields`: alternating names and values. */
export function expectedOf(fields: readonly string[], role: Direction, trailers = false): Expected {
  const pairs: { readonly name: string; readonly value: string }[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) pairs.push({ name: (fields[at] ?? '').toLowerCase(), value: fields[at + 1] ?? '' });
  const firstOf = (name: string): string | null => pairs.find((pair) => pair.name === name)?.value ?? null;
  const options = pairs.filter(({ name }) => name === 'connection').flatMap(({ value }) => value.toLowerCase().split(/[ \t]*,[ \t]*/));
  const nominated = new Set(options.filter((option) => !NOT_NOMINABLE.has(option)));
  const isForwarded = ({ name, value }: { readonly name: string; readonly value: string }): boolean => {
    if (HOP_BY_HOP.has(name) || nominated.has(name)) return false;
    if (trailers && (HEAD_ONLY.has(folded(name)) || hasBlankEdge(value))) return false;
    return role === 'response' || !(isOurs(folded(name)) || (folded(name) !== name && FRAMING.includes(folded(name))));
  };
  return {
    kept: pairs.filter(isForwarded).map(({ name, value }) => `${name}: ${value}`),
    length: Number(firstOf('content-length') ?? -1),
    chunked: firstOf('transfer-encoding')?.toLowerCase() === 'chunked',
    host: firstOf('host'),
    close: options.includes('close'),
    keepAlive: options.includes('keep-alive'),
  };
}

/** `kept` lines in the form of `Expected.kept`, whose white space they already have. */
export function linesOf(kept: string): readonly string[] {
  if (kept === '') return [];
  if (!kept.endsWith('\r\n')) throw new Error('the kept lines do not end with CRLF');
  return kept
    .slice(0, -2)
    .split('\r\n')
    .map((line) => {
      const colon = line.indexOf(':');
      return line.slice(0, colon).toLowerCase() + line.slice(colon);
    });
}

/** The target that is forwarded, given the one that was sent (RFC 9112 3.2). */
export function expectedTarget(method: string, sent: string): string {
  if (sent.startsWith('/') || sent === '*') return sent;
  const afterAuthority = sent.slice('://'.length + sent.indexOf('://')).replace(/^[^/?]*/, '');
  if (afterAuthority === '') return method === 'OPTIONS' ? '*' : '/';
  return afterAuthority.startsWith('?') ? `/${afterAuthority}` : afterAuthority;
}
