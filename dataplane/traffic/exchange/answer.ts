import { STATUS_CODES } from '../../../shared/runtime/http.ts';
import { displaySafe } from '../../../shared/wire/errors.ts';
import { httpDate } from '../codec/date.ts';
import { fieldIn, withoutFields } from '../codec/http1/fields.ts';
import { type AnswerFields, answeredFields, defaultFields, deferredFields } from './answer-fields.ts';
import { crossOriginFields } from './cross-origin.ts';
import type { ErrorPage } from './error-pages.ts';
import { type Exchange, UNTIL_CLOSE } from './exchange.ts';
import { isGrpc } from './grpc.ts';
import type { OwnAnswer } from './own-answer.ts';
import { beginAnswer, endAnswer, relayBody } from './relay.ts';

/** Answers the exchange without an upstream. Routed hosts get the default headers and their own; the filters don't see the response. */
export function answer(x: Exchange, own: OwnAnswer): void {
  const { status, fields, bytes, bodyless } = written(x, own);
  const routed = fieldsFor(x);
  const lines = routed?.deferred == null || own.sealed ? fields : deferredFields(routed, x, status, fields);
  x.client.head(x, status, STATUS_CODES[status] ?? '', lines + x.authCookies, bodyless ? UNTIL_CLOSE : bytes.length);
  if (!bodyless && x.method !== 'HEAD' && bytes.length > 0) x.client.body(bytes, 0, bytes.length);
  x.client.end(x, '');
  x.client.flush();
}

/** The same for a response that is the site's content, and so passes through its filters. */
export function answerThroughFilters(x: Exchange, own: OwnAnswer): void {
  const { status, fields, bytes, bodyless } = written(x, own);
  beginAnswer(x, status, STATUS_CODES[status] ?? '', fields, bodyless ? UNTIL_CLOSE : bytes.length);
  if (!bodyless && x.method !== 'HEAD' && bytes.length > 0) relayBody(x, bytes, 0, bytes.length);
  endAnswer(x, '');
}

function written(x: Exchange, own: OwnAnswer): { status: number; fields: string; bytes: Buffer; bodyless: boolean } {
  const { status } = own;
  x.failure = own.reason;
  const errorPage = own.body === null ? errorPageFor(x, status) : null;
  const page =
    errorPage !== null ? { type: '', body: errorPage.body } : own.body === null ? pageFor(x, status) : { type: '', body: own.body };
  const routed = fieldsFor(x);
  const made = httpDate() + own.fields + page.type;
  const whole =
    routed === undefined ? made : own.sealed ? made + defaultFields(routed, x.strictTransport) : answeredFields(routed, x, status, made);
  const fields = x.crossOrigin === null ? whole : crossOriginFields(whole, x.crossOrigin);
  return {
    status,
    fields: errorPage === null ? fields : withoutFields(fields, errorPage.names) + errorPage.fields,
    bytes: typeof page.body === 'string' ? Buffer.from(page.body) : page.body,
    bodyless: status === 204 || status === 304,
  };
}

/** The site's own page for an error; null for the default one. A gRPC client reads no pages. */
function errorPageFor(x: Exchange, status: number): ErrorPage | null {
  const pages = (x.block ?? x.route)?.errorPages;
  return pages == null || status < 400 || isGrpc(x) ? null : pages.own(x, status);
}

const fieldsFor = (x: Exchange): AnswerFields | undefined => x.block?.ownFields ?? x.route?.fields;

function pageFor(x: Exchange, status: number): { type: string; body: string } {
  const title = displaySafe(STATUS_CODES[status] ?? 'Error');
  const accept = fieldIn(x.fields, 'accept') ?? '';
  if (accept.includes('json') && !accept.includes('text/html'))
    return { type: 'Content-Type: application/json\r\n', body: JSON.stringify({ error: title, status }) };
  const body = `<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>${status} ${title}</title>\n<body style="font:16px/1.5 system-ui;margin:15vh auto;max-width:30em;text-align:center">\n<h1>${status}</h1><p>${title}</p>\n</html>\n`;
  return { type: 'Content-Type: text/html; charset=utf-8\r\n', body };
}
