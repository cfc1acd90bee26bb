import { httpDate } from '../codec/date.ts';
import type { Fields } from '../codec/http1/fields.ts';
import { withoutFields } from '../codec/http1/kept-lines.ts';
import type { ResponseHead } from '../codec/http1/response-head.ts';
import { deferredFields, relayedFields } from './answer-fields.ts';
import { crossOriginFields } from './cross-origin.ts';
import { type Block, type Exchange, UNTIL_CLOSE } from './exchange.ts';
import { FilterChain } from './filter-chain.ts';
import { isGrpc } from './grpc.ts';
import { defaultPage } from './pages/default-page.ts';
import { type ErrorPage, type ErrorPages, isStored, replacedLines } from './pages/error-pages.ts';
import { PendingReplacement } from './pages/pending-page.ts';

const CONTINUE = 100;

/*
 * THE WAY BACK: the one place where responses are sent to the client, whether from an upstream in any protocol, from a declined
 * upgrade, or from the proxy itself. Without filters, responses go straight to the client.
 */

/** An interim head (1xx other than 101) that an upstream has sent. */
export function relayInterim(x: Exchange, { status, reason, fields }: ResponseHead): void {
  if (status === CONTINUE) x.maySendBody = true;
  x.client.informational(status, reason, fields.kept);
}

/** The head that an upstream has sent: the fields of the block are added to its own. */
export function relayHead(x: Exchange, head: ResponseHead): void {
  const { fields } = head;
  x.contentType = fields.contentType;
  const length = fields.chunked || fields.contentLength < 0 ? UNTIL_CLOSE : fields.contentLength;
  beginAnswer(x, head.status, head.reason, answerLines(x, head.status, fields), length, x.affinityLine);
}

function answerLines(x: Exchange, status: number, answer: Fields): string {
  const lines = answer.hasDate ? answer.kept : answer.kept + httpDate();
  const whole = x.block === null ? lines : relayedFields(x.block.fields, x, status, lines, answer);
  return readableLines(x, whole);
}

/** The lines of a response for this exchange, with CORS fields for its origin. */
export const readableLines = (x: Exchange, lines: string): string =>
  x.crossOrigin === null ? lines : crossOriginFields(lines, x.crossOrigin);

/** The properties of a stored response, known without parsing its fields again. */
export type StoredHead = Pick<Fields, 'hasStrictTransportSecurity' | 'hasContentTypeOptions' | 'hasFrameOptions'>;

/** The lines of a stored response, with the fields of the exchange's block as for one that has just come from an upstream. */
export function storedLines(x: Exchange, status: number, lines: string, head: StoredHead): string {
  const { block } = x;
  if (block === null) return lines;
  const { overrides } = block.fields;
  const kept = overrides === null ? lines : withoutFields(lines, new Set(overrides.values()));
  return relayedFields(block.fields, x, status, kept, head);
}

/**
 * The final head, with the fields of the block in it. `fields` are whole lines; `length` in bytes or UNTIL_CLOSE. `more` are lines that
 * neither filters nor the block see.
 */
export function beginAnswer(x: Exchange, status: number, reason: string, fields: string, length: number, more = ''): void {
  // It is not sent again, and the response may take long.
  x.held = null;
  x.bodyStart = null;
  const { block, splitLine, authCookies } = x;
  const own = authCookies === '' ? splitLine : authCookies + splitLine;
  const last = own === '' ? more : more + own;
  if (block === null) return x.client.head(x, status, reason, fields + last, length);
  if (status >= 400 && block.errorPages !== null && replacesByPage(x, block.errorPages, { status, reason, fields, more })) return;
  const { filters } = block;
  if (filters === null) {
    return x.client.head(x, status, reason, deferredLines(x, block, status, fields) + last, length);
  }
  const bodyless = x.method === 'HEAD' || status === 204 || status === 304;
  const head = { status, reason, fields, length, bodyless };
  const stages = filters.flatMap((filter) => filter.begin(x, head) ?? []);
  if (stages.length > 0 && !bodyless) x.filtering = new FilterChain(x, stages);
  x.client.head(x, head.status, head.reason, deferredLines(x, block, head.status, head.fields) + last, head.length);
}

/** Changes that the block makes only to responses of its upstreams do not apply to the proxy's own. */
function deferredLines(x: Exchange, block: Block, status: number, lines: string): string {
  if (block.fields.deferred === null) return lines;
  const { fields, ownFields } = block;
  const rules = (x.hasErrorPage && x.failure !== '') || !isUpstreams(x) ? ownFields : fields;
  return rules.deferred === null ? lines : deferredFields(rules, x, status, lines);
}

/** Whether an upstream has sent the response, now or when the cache stored it. */
const isUpstreams = ({ endpoint, cached }: Exchange): boolean => endpoint !== null || isStored(cached);

type UpstreamResponse = { readonly status: number; readonly reason: string; readonly fields: string; readonly more: string };

/** @returns whether a page will replace the response of an upstream. A gRPC client reads no pages. */
function replacesByPage(x: Exchange, pages: ErrorPages, { status, reason, fields, more }: UpstreamResponse): boolean {
  // Responses of the site itself are not replaced.
  if (!isUpstreams(x) || x.hasErrorPage || isGrpc(x)) return false;
  const search = pages.intercepted(x, status, fields);
  if (search === null) return false;
  new PendingReplacement(x, search, pages.clock, (found) => {
    const page = found ?? defaultErrorPage(x, status);
    x.hasErrorPage = true;
    x.contentType = null;
    beginAnswer(x, status, reason, replacedLines(fields, page), page.body.length, more);
    if (x.method !== 'HEAD' && page.body.length > 0) relayBody(x, page.body, 0, page.body.length);
    endAnswer(x, '');
  });
  return true;
}

const CONTENT_TYPE: ReadonlySet<string> = new Set(['content-type']);

function defaultErrorPage(x: Exchange, status: number): ErrorPage {
  const { fields, body } = defaultPage(x.fields, status);
  return { body: Buffer.from(body), fields, names: CONTENT_TYPE };
}

/** A piece of the body. @returns false when the sender should pause; `resume` of the attempt is called later. */
export function relayBody(x: Exchange, buffer: Buffer, from: number, to: number): boolean {
  const accepts = x.filtering === null ? x.client.body(buffer, from, to) : x.filtering.body(buffer, from, to);
  if (!accepts) x.holdsTarget = true;
  return accepts;
}

/** Sends what has been buffered; called when no more data is available for now. */
export function flushAnswer(x: Exchange): void {
  x.filtering?.flush();
  x.client.flush();
}

/** The response is complete; the upstream is no longer involved. Throws nothing. */
export function endAnswer(x: Exchange, trailers: string): void {
  try {
    if (x.filtering !== null) return x.filtering.end(trailers);
    x.client.end(x, trailers);
    x.client.flush();
  } catch (error) {
    x.client.onFault(error);
  }
}

/** The response ends prematurely. Throws nothing. */
export function abortAnswer(x: Exchange): void {
  try {
    if (x.filtering !== null) x.filtering.abort();
    else x.client.abort(x);
  } catch (error) {
    x.client.onFault(error);
  }
}

/** The client can accept more of the body. */
export function resumeAnswer(x: Exchange): void {
  if (x.filtering === null) x.attempt?.resume();
  else x.filtering.resume();
}
