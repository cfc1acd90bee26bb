import type { RequestHead } from '../codec/http1/request-head.ts';
import { requestedUpgrade } from '../codec/http1/requested-upgrade.ts';
import { CHUNKED, type Downstream, Exchange, type RequestPath } from '../exchange/exchange.ts';
import type { RequestIds } from '../exchange/request-ids.ts';
import { type Tracing, untraced } from '../exchange/tracing/tracing.ts';
import { forwardingLines, type Origin, type Peer } from './forwarded.ts';

/** Creates the exchange for a valid head. `now` in milliseconds on the monotonic clock; `tracing` null: requests are not traced. */
export function beginExchange(
  client: Downstream,
  requestPath: RequestPath,
  head: RequestHead,
  peer: Peer,
  origin: Origin,
  ids: RequestIds,
  now: number,
  tracing: Tracing | null,
): Exchange {
  const { fields } = head;
  const trace = tracing === null ? null : tracing.begin(fields, peer.trusted);
  const kept = trace === null ? fields.kept : untraced(fields, trace);
  return new Exchange(client, requestPath, {
    method: head.method,
    target: head.target,
    host: head.host,
    hostField: head.hostField,
    fields: peer.trusted ? kept + fields.vouched : kept,
    bodyLength: fields.chunked ? CHUNKED : Math.max(0, fields.contentLength),
    expectsContinue: fields.expectsContinue && head.minor === 1,
    referer: fields.referer,
    userAgent: fields.userAgent,
    fetchDestination: fields.fetchDestination,
    privacyControl: fields.privacyControl,
    prefetch: fields.prefetch,
    bindsConnection: fields.bindsConnection,
    upgrade: fields.connectionUpgrade ? requestedUpgrade(head) : null,
    hops: fields.hops,
    forwarding: forwardingLines(peer, origin, head, ids),
    port: peer.localPort,
    secure: origin.secure,
    strictTransport: origin.secure && (peer.certificate === null || peer.certificate.allowsHsts),
    clientRule: peer.certificate === null ? null : peer.certificate.clientRule,
    misdirected: peer.certificate !== null && !peer.certificate.covers(head.host),
    startedAt: now,
    trace,
  });
}
