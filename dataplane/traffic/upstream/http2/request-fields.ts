import type { OutgoingHead } from '../../codec/http2/outgoing-head.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { forwardedFields, needsLength } from '../request-text.ts';

const HOST_LINE = /(?:^|\r\n)host:[\t ]*([^\r]*?)[\t ]*\r\n/i;

/**
 * The head of a request as sent to a target over HTTP/2 (RFC 9113 8.3). Trailers are forwarded even if the client announced none, so
 * `te: trailers` is always sent; some gRPC servers require it.
 */
export function requestHead(x: Exchange, scheme: 'http' | 'https'): OutgoingHead {
  const fields = forwardedFields(x);
  const host = HOST_LINE.exec(fields);
  const authority = host?.[1] ?? x.hostField;
  const rest =
    host === null ? fields : fields.slice(0, host.index) + (host.index === 0 ? '' : '\r\n') + fields.slice(host.index + host[0].length);
  const trace = x.trace === null ? '' : x.trace.line;
  return {
    status: 0,
    pseudo: [':method', x.upstreamMethod, ':scheme', scheme, ':authority', authority, ':path', x.upstreamTarget, 'te', 'trailers'],
    lines: rest + x.forwarding + trace,
    length: x.bodyLength > 0 || (x.bodyLength === 0 && needsLength(x.upstreamMethod)) ? x.bodyLength : -1,
  };
}
