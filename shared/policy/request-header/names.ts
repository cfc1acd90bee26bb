import { HOPS_FIELD } from '../../name.ts';

/** Fields of this connection, or of the message's framing (RFC 9110 7.6.1, RFC 9112 6). */
const FRAMING = [
  ...['connection', 'content-length', 'expect', 'http2-settings', 'keep-alive', 'max-forwards'],
  ...['proxy', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
];

/** Fields that the proxy sends with what it knows itself. */
const OWN = [
  ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'x-request-id'],
  ...['traceparent', 'tracestate', HOPS_FIELD.toLowerCase()],
];

/** For the route schema; upstreams may take an underscore for a hyphen. */
export const CHANGEABLE = new RegExp(`^(?!(?:${[...FRAMING, ...OWN].join('|').replaceAll('-', '[-_]')})$)`, 'i');

/** Why a request header can't be changed; undefined if it can. */
export function faultOfRequestHeader(name: string): string | undefined {
  const plain = name.toLowerCase().replaceAll('_', '-');
  if (OWN.includes(plain))
    return 'the proxy itself sets this header, from what it knows about the client: delete the line; to trust a proxy in front, set trusted_proxies';
  return FRAMING.includes(plain) ? 'the proxy itself sets this header; delete the line' : undefined;
}

/** `uri-host [ ":" port ]` (RFC 9110 7.2). */
export const HOST_VALUE = /^(?:[A-Za-z0-9._~!$&'()*+,;=%-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/;

/** The values of Host that stand for the chosen target, and what replaces them. */
export const OF_TARGET: ReadonlyMap<string, 'hostport' | 'host'> = new Map([
  ['{upstream_hostport}', 'hostport'],
  ['{http.reverse_proxy.upstream.hostport}', 'hostport'],
  ['{http.reverse_proxy.upstream.address}', 'hostport'],
  ['{upstream_host}', 'host'],
  ['{http.reverse_proxy.upstream.host}', 'host'],
]);

export const isHost = (name: string): boolean => name.toLowerCase() === 'host';
