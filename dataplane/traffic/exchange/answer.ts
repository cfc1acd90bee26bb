import { STATUS_CODES } from '../../../shared/runtime/http/node-http.ts';
import { httpDate } from '../codec/date.ts';
import { withoutFields } from '../codec/http1/kept-lines.ts';
import { type AnswerFields, answeredFields, defaultFields, defaultsIn, deferredFields } from './answer-fields.ts';
import { crossOriginFields } from './cross-origin.ts';
import { type Exchange, UNTIL_CLOSE } from './exchange.ts';
import { isGrpc } from './grpc.ts';
import type { OwnAnswer } from './own-answer.ts';
import { defaultPage } from './pages/default-page.ts';
import type { ErrorPage, PageSearch } from './pages/error-pages.ts';
import { PendingPage } from './pages/pending-page.ts';
import { beginAnswer, endAnswer, relayBody } from './relay.ts';

/** Answers the exchange without an upstream. Routed hosts get the default headers and their own; the filters don't see the response. */
export function answer(x: Exchange, own: OwnAnswer): void {
  const page = own.body === null ? errorPageFor(x, own.status) : null;
  if (typeof page !== 'function') return send(x, own, page);
  x.failure = own.reason;
  // A file is content of the site, so it passes through the filters.
  new PendingPage(x, page, (file) => (file === null ? send(x, own, null) : sendThroughFilters(x, own, file)));
}

function send(x: Exchange, own: OwnAnswer, page: ErrorPage | null): void {
  const { status, fields, bytes, bodyless } = buildResponse(x, own, page);
  const routed = fieldsFor(x);
  const lines = routed?.deferred == null || own.sealed ? fields : deferredFields(routed, x, status, fields);
  x.client.head(x, status, STATUS_CODES[status] ?? '', lines + x.authCookies, bodyless ? UNTIL_CLOSE : bytes.length);
  if (!bodyless && x.method !== 'HEAD' && bytes.length > 0) x.client.body(bytes, 0, bytes.length);
  x.client.end(x, '');
  x.client.flush();
}

/** The same for a response that is the site's content, and so passes through its filters. */
export const answerThroughFilters = (x: Exchange, own: OwnAnswer): void => sendThroughFilters(x, own, null);

function sendThroughFilters(x: Exchange, own: OwnAnswer, page: ErrorPage | null): void {
  const { status, fields, bytes, bodyless } = buildResponse(x, own, page);
  x.hasErrorPage = page !== null;
  beginAnswer(x, status, STATUS_CODES[status] ?? '', fields, bodyless ? UNTIL_CLOSE : bytes.length);
  if (!bodyless && x.method !== 'HEAD' && bytes.length > 0) relayBody(x, bytes, 0, bytes.length);
  endAnswer(x, '');
}

type BuiltResponse = { readonly status: number; readonly fields: string; readonly bytes: Buffer; readonly bodyless: boolean };

function buildResponse(x: Exchange, own: OwnAnswer, errorPage: ErrorPage | null): BuiltResponse {
  const { status } = own;
  x.failure = own.reason;
  const bodyless = status === 204 || status === 304;
  // The fields of a 304 replace those of the response that the client has stored (RFC 9111 3.2), so it has none about a page.
  const page = errorPage ?? (own.body !== null || bodyless ? { fields: '', body: own.body ?? '' } : defaultPage(x.fields, status));
  const routed = fieldsFor(x);
  const lines = httpDate() + own.fields + (errorPage === null ? page.fields : '');
  const has = own.relayed ? defaultsIn(lines) : undefined;
  const whole =
    routed === undefined
      ? lines
      : own.sealed
        ? lines + defaultFields(routed, x.strictTransport)
        : answeredFields(routed, x, status, lines, has);
  const fields = x.crossOrigin === null ? whole : crossOriginFields(whole, x.crossOrigin);
  return {
    status,
    fields: errorPage === null ? fields : withoutFields(fields, errorPage.names) + errorPage.fields,
    bytes: typeof page.body === 'string' ? Buffer.from(page.body) : page.body,
    bodyless,
  };
}

/** The site's own page for an error; null for the default one. A gRPC client reads no pages. */
function errorPageFor(x: Exchange, status: number): ErrorPage | PageSearch | null {
  const pages = (x.block ?? x.route)?.errorPages;
  return pages == null || status < 400 || isGrpc(x) ? null : pages.own(x, status);
}

const fieldsFor = (x: Exchange): AnswerFields | undefined => x.block?.ownFields ?? x.route?.fields;
