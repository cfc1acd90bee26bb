import { socketPath, splitAddress } from '../../../shared/values/address.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { AttemptSpan, RequestSpans, Trace, TracedTarget, WaitSpan } from '../exchange/tracing/trace.ts';
import { escaped, jsonText } from './json-text.ts';
import { redactedUrl } from './redacted-url.ts';

/** The maximum length of a value that the client chooses (characters). */
const MAX_TEXT = 2_048;

/** Kinds of spans in OTLP. */
const INTERNAL = 1;
const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;

/** RFC 9110 9.3 and RFC 5789; any other method is `_OTHER` in the conventions. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH']);
const VERSIONS = { 'HTTP/1.0': '1.0', 'HTTP/1.1': '1.1', 'HTTP/2.0': '2' } as const;

/** Attributes and status of a span, each rendered. */
type Details = { readonly attributes: string; readonly status: string; readonly events: string };
type Times = { readonly startedAt: number; readonly endedAt: number };

/**
 * The spans of an exchange that is over, as objects of OTLP's JSON mapping separated by commas, and their number. `epoch` is the time
 * in ms since 1970 at which the monotonic clock was 0. They are assembled here because a library takes several times as long. See
 * decision 0118.
 */
export function spanText(x: Exchange, trace: Trace, spans: RequestSpans, epoch: number, now: number): { text: string; count: number } {
  const whole = span(trace, trace.spanId, trace.parentId, nameOf(x), SERVER, { startedAt: x.startedAt, endedAt: now }, epoch, ofRequest(x));
  let text = whole;
  let count = 1;
  const add = (one: string): void => {
    text += `,${one}`;
    count++;
  };
  const addWaits = (waits: readonly WaitSpan[], parentId: string): void => {
    for (const wait of waits) add(waitText(trace, wait, parentId, epoch));
  };
  addWaits(spans.holds, trace.spanId);
  for (const attempt of spans.attempts) {
    add(span(trace, attempt.id, trace.spanId, nameOf(x), CLIENT, attempt, epoch, ofAttempt(x, attempt, epoch)));
    addWaits(attempt.waits, attempt.id);
  }
  return { text, count };
}

function waitText(trace: Trace, wait: WaitSpan, parentId: string, epoch: number): string {
  const { reason, failure } = wait;
  const connects = reason === 'connect';
  const attributes = (connects ? '' : text('sluice.wait.for', reason)) + (failure === null ? '' : text('error.type', failure.code));
  const status = failure === null ? '' : errorStatus(failure.reason);
  return span(trace, wait.id, parentId, connects ? 'connect' : 'wait', INTERNAL, wait, epoch, { attributes, status, events: '' });
}

function span(
  { id }: Trace,
  spanId: string,
  parentId: string,
  name: string,
  kind: number,
  { startedAt, endedAt }: Times,
  epoch: number,
  { attributes, status, events }: Details,
): string {
  const parent = parentId === '' ? '' : `"parentSpanId":"${parentId}",`;
  return (
    `{"traceId":"${id}","spanId":"${spanId}",${parent}"name":"${name}","kind":${kind},"startTimeUnixNano":"${nanos(epoch + startedAt)}",` +
    `"endTimeUnixNano":"${nanos(epoch + endedAt)}","attributes":[${attributes.slice(0, -1)}]${events}${status}}`
  );
}

/** The whole request, as a server sees it. */
function ofRequest(x: Exchange): Details {
  const { connection, protocol } = x.client.facts();
  const question = x.target.indexOf('?');
  const port = /:(\d{1,5})$/.exec(x.hostField)?.[1];
  const cutOff = x.failure !== '' && x.lastFailure !== null && x.failure === x.lastFailure.reason;
  const failed = x.status >= 500 || cutOff;
  const attributes =
    methodIn(x.method) +
    text('url.scheme', x.secure ? 'https' : 'http') +
    sent('url.path', redactedUrl(question < 0 ? x.target : x.target.slice(0, question))) +
    (question < 0 ? '' : sent('url.query', redactedUrl(x.target.slice(question)).slice(1))) +
    sent('server.address', x.host) +
    (port === undefined ? '' : number('server.port', port)) +
    sent('client.address', x.client.address) +
    sent('network.peer.address', connection.address) +
    (connection.port === null ? '' : number('network.peer.port', connection.port)) +
    text('network.protocol.version', VERSIONS[protocol]) +
    (x.userAgent === null ? '' : sent('user_agent.original', x.userAgent)) +
    (x.status === 0 ? '' : number('http.response.status_code', x.status)) +
    (x.cached === null ? '' : text('sluice.cache.result', x.cached)) +
    number('http.response.body.size', x.counted ? x.bytesSent : x.bodySent) +
    (failed ? text('error.type', (x.failure === '' ? null : x.lastFailure?.code) ?? `${x.status}`) : '');
  return { attributes, status: failed ? errorStatus(x.failure) : '', events: '' };
}

/** One attempt, as a client of the target sees it. */
function ofAttempt(x: Exchange, { target, resends, status, failure, answeredAt }: AttemptSpan, epoch: number): Details {
  const error = failure?.code ?? (status === 0 ? 'cancelled' : status >= 400 ? `${status}` : null);
  const attributes =
    methodIn(x.upstreamMethod) +
    sent('url.full', redactedUrl(urlOf(target, x.upstreamTarget))) +
    addressOf(target) +
    text('network.protocol.version', target.transport.http2 ? '2' : '1.1') +
    (resends === 0 ? '' : number('http.request.resend_count', resends)) +
    (status === 0 ? '' : number('http.response.status_code', status)) +
    (error === null ? '' : text('error.type', error));
  const events = answeredAt < 0 ? '' : `,"events":[{"timeUnixNano":"${nanos(epoch + answeredAt)}","name":"response head"}]`;
  return { attributes, status: error === null ? '' : errorStatus(failure?.reason ?? ''), events };
}

function methodIn(method: string): string {
  if (METHODS.has(method)) return text('http.request.method', method);
  return text('http.request.method', '_OTHER') + sent('http.request.method_original', method);
}

const nameOf = ({ method }: Exchange): string => (METHODS.has(method) ? method : 'HTTP');

/** A socket has no host of its own. */
const urlOf = ({ address, serverName }: TracedTarget, target: string): string =>
  `${serverName === null ? 'http' : 'https'}://${socketPath(address) === null ? address : 'localhost'}${target === '*' ? '' : target}`;

function addressOf({ address }: TracedTarget): string {
  const path = socketPath(address);
  if (path !== null) return sent('server.address', path) + text('network.transport', 'unix');
  const { host, port } = splitAddress(address);
  return sent('server.address', host) + number('server.port', port);
}

const errorStatus = (reason: string): string => `,"status":{"code":${ERROR}${reason === '' ? '' : `,"message":${escaped(reason)}`}}`;

/** An attribute, with a comma after it. The value needs no escapes. */
const text = (key: string, value: string): string => `{"key":"${key}","value":{"stringValue":"${value}"}},`;

/** The same for a value that comes from outside. */
const sent = (key: string, value: string): string => `{"key":"${key}","value":{"stringValue":${jsonText(value.slice(0, MAX_TEXT))}}},`;

/** 64-bit integers are strings in the JSON mapping. */
const number = (key: string, value: number | string): string => `{"key":"${key}","value":{"intValue":"${value}"}},`;

/** Milliseconds as nanoseconds, to the microsecond. */
const nanos = (ms: number): string => `${Math.round(ms * 1_000)}000`;
