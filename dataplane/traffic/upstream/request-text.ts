import { socketPath } from '../../../shared/values/address.ts';
import { CHUNKED, type Exchange } from '../exchange/exchange.ts';
import { decrementMaxForwards } from './max-forwards.ts';

/** The head of a request as sent to the upstream: the client's forwarded fields, ours, and framing of our own. */
export function requestHead(x: Exchange): string {
  const framing =
    x.bodyLength === CHUNKED
      ? 'Transfer-Encoding: chunked\r\n'
      : x.bodyLength > 0 || needsLength(x.upstreamMethod)
        ? `Content-Length: ${x.bodyLength}\r\n`
        : '';
  const trace = x.trace === null ? '' : x.trace.line;
  const method = x.upstreamMethod === 'GET' ? 'GET ' : `${x.upstreamMethod} `;
  return `${method}${x.upstreamTarget} HTTP/1.1\r\n${forwardedFields(x)}${x.forwarding}${trace}${framing}\r\n`;
}

/** The client's fields as the target gets them. */
export function forwardedFields(x: Exchange): string {
  const fields = decrementMaxForwards(x.upstreamMethod, x.upstreamFields);
  return x.hostOfTarget === null || x.endpoint === null ? fields : withHost(fields, hostOf(x.endpoint.address, x.hostOfTarget));
}

function withHost(fields: string, host: string): string {
  return fields
    .split('\r\n')
    .map((line) => (/^host:/i.test(line) ? `Host: ${host}` : line))
    .join('\r\n');
}

/** A socket has no host, and upstreams behind one rarely look at it. */
function hostOf(address: string, form: 'hostport' | 'host'): string {
  if (socketPath(address) !== null) return 'localhost';
  return form === 'hostport' ? address : address.slice(0, address.lastIndexOf(':'));
}

/** RFC 9110 8.6: requests with a method that usually has a body send Content-Length even if the body is empty. */
export const needsLength = (method: string): boolean => method === 'POST' || method === 'PUT' || method === 'PATCH';
