import { fieldArray } from '../../codec/http2/request-text.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { forwardedFields, needsLength } from '../request-text.ts';

/** Where the value of `:authority` is in the list. */
const AUTHORITY = 5;
/** How many elements of the list are pseudo-header fields, counting names and values. */
const PSEUDO = 8;

/**
 * The head of a request as sent to a target over HTTP/2 (RFC 9113 8.3): alternating names and values. Trailers are forwarded whatever the
 * client announced, so `te: trailers` is always sent; some gRPC servers require it.
 */
export function requestFields(x: Exchange, scheme: 'http' | 'https'): string[] {
  const list = [':method', x.upstreamMethod, ':scheme', scheme, ':authority', x.hostField, ':path', x.upstreamTarget];
  fieldArray(forwardedFields(x), list);
  for (let at = PSEUDO; at < list.length; at += 2) {
    if (list[at] !== 'host') continue;
    list[AUTHORITY] = list[at + 1] as string;
    list.splice(at, 2);
    break;
  }
  fieldArray(x.forwarding, list);
  if (x.trace !== null) fieldArray(x.trace.line, list);
  list.push('te', 'trailers');
  if (x.bodyLength > 0 || (x.bodyLength === 0 && needsLength(x.upstreamMethod))) list.push('content-length', `${x.bodyLength}`);
  return list;
}
