import { CHUNKED, type Exchange } from '../exchange/exchange.ts';
import { decrementMaxForwards } from './max-forwards.ts';

/** The head of a request as sent to the upstream: the client's forwarded fields, ours, and framing of our own. */
export function requestHead(x: Exchange): string {
  const framing =
    x.bodyLength === CHUNKED
      ? 'Transfer-Encoding: chunked\r\n'
      : x.bodyLength > 0 || needsLength(x.method)
        ? `Content-Length: ${x.bodyLength}\r\n`
        : '';
  const trace = x.trace === null ? '' : x.trace.line;
  return `${x.method} ${x.upstreamTarget} HTTP/1.1\r\n${decrementMaxForwards(x.method, x.upstreamFields)}${x.forwarding}${trace}${framing}\r\n`;
}

/** RFC 9110 8.6: requests with a method that usually has a body send Content-Length even if the body is empty. */
export const needsLength = (method: string): boolean => method === 'POST' || method === 'PUT' || method === 'PATCH';
