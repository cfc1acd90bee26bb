import type { OurMessage } from '../../codec/http1/oracle/testing/reading.ts';
import { CHUNKED, type Downstream, Exchange, type RequestPath } from '../../exchange/exchange.ts';

/** A client that discards everything. */
const SILENT: Downstream = {
  address: '192.0.2.1',
  facts: () => ({ connection: { address: '192.0.2.1', port: 50_000, tls: null, local: null }, protocol: 'HTTP/1.1', bodyRead: 0 }),
  head: () => undefined,
  informational: () => undefined,
  body: () => true,
  unsent: 0,
  end: () => undefined,
  abort: () => undefined,
  onFault: () => undefined,
  flush: () => undefined,
  detach: () => null,
  reattach: () => undefined,
  bufferBody: (x, then) => then(x),
  streamBody: () => undefined,
  resumeBody: () => undefined,
};

/** For exchanges that are never resumed. */
export const NOT_SERVED: RequestPath = { serve: () => undefined, resume: () => undefined, routedAs: (x) => x };

export const FORWARDING = 'X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Host: a\r\nX-Request-ID: 7\r\n';

export type SampleRequest = Pick<OurMessage, 'method' | 'target' | 'kept' | 'length' | 'chunked'>;

/** The exchange that a connection creates for a request. */
export function sampleExchange(request: SampleRequest): Exchange {
  return new Exchange(SILENT, NOT_SERVED, {
    method: request.method,
    target: request.target,
    host: 'a',
    hostField: 'a',
    fields: request.kept,
    bodyLength: request.chunked ? CHUNKED : Math.max(0, request.length),
    expectsContinue: false,
    port: 80,
    secure: false,
    strictTransport: false,
    misdirected: false,
    clientRule: null,
    upgrade: null,
    referer: null,
    userAgent: null,
    fetchDestination: null,
    privacyControl: false,
    prefetch: false,
    bindsConnection: false,
    hops: 0,
    forwarding: FORWARDING,
    startedAt: 0,
    trace: null,
  });
}
