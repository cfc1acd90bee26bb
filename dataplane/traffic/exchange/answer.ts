import { STATUS_CODES } from 'node:http';
import { displaySafe } from '../../../shared/wire/errors.ts';
import { httpDate } from '../codec/date.ts';
import { MOST_HOPS } from '../codec/hops.ts';
import { fieldIn, withoutFields } from '../codec/http1/fields.ts';
import { ownFields } from './answer-fields.ts';
import { type Exchange, UNTIL_CLOSE } from './exchange.ts';

/** An answer that comes from the proxy itself. */
export type OwnAnswer = {
  readonly status: number;
  /** Fields beside the defaults, as lines. */
  readonly fields: string;
  /** null: the small page of the status, as HTML or JSON by what the client accepts. */
  readonly body: string | null;
  /** For the log and for people who ask why; never shown to visitors. */
  readonly reason: string;
};

export const NO_ROUTE: OwnAnswer = { status: 404, fields: '', body: null, reason: 'no route for this host' };
export const NO_BLOCK: OwnAnswer = { status: 404, fields: '', body: null, reason: 'no block of the site matches this path' };
export const OWN_PATH: OwnAnswer = {
  status: 404,
  fields: '',
  body: null,
  reason: 'the path is one of the proxy’s own, and there is nothing',
};
export const AMBIGUOUS_PATH: OwnAnswer = {
  status: 400,
  fields: '',
  body: null,
  reason: 'the path could mean another block of a site that has access rules',
};
/** RFC 9110 15.5.20: the client may ask again on a connection of its own. */
export const MISDIRECTED: OwnAnswer = {
  status: 421,
  fields: '',
  body: null,
  reason: 'the certificate of this connection does not cover the host',
};
/** The same, where the two differ in whom they let in: what the client showed, or did not, was meant for another name. */
export const OTHER_RULE: OwnAnswer = {
  status: 421,
  fields: '',
  body: null,
  reason: 'this connection was made under another rule about client certificates than the host has',
};
/** RFC 5842 7.2: the request goes in a circle, through this proxy or others like it. */
export const LOOP: OwnAnswer = {
  status: 508,
  fields: '',
  body: null,
  reason: `it has come through ${MOST_HOPS} proxies like this one already: a route leads back to the proxy itself`,
};
/** To OPTIONS and TRACE that may go no further (RFC 9110 7.6.2). What was sent is never sent back: it may hold secrets (9.3.8). */
export const LAST_HOP: OwnAnswer = { status: 200, fields: '', body: '', reason: 'Max-Forwards is used up' };
export const NO_TRACE: OwnAnswer = { status: 405, fields: 'Allow: OPTIONS\r\n', body: null, reason: 'Max-Forwards is used up' };

/** Answers the exchange without an upstream. Routed hosts get their default and own headers with it. */
export function answer(x: Exchange, own: OwnAnswer): void {
  x.failure = own.reason;
  const page = own.body === null ? pageFor(x, own.status) : { type: '', body: own.body };
  const routed = x.block?.fields ?? x.route?.fields;
  const added = routed === undefined ? '' : ownFields(routed, x.strictTransport);
  const overrides = routed?.overrides ?? null;
  const made = own.fields + page.type;
  const fields = httpDate() + (overrides === null ? made : withoutFields(made, new Set(overrides.values()))) + added;
  const bodyless = own.status === 204 || own.status === 304;
  const bytes = Buffer.from(page.body);
  x.client.head(x, own.status, STATUS_CODES[own.status] ?? '', fields, bodyless ? UNTIL_CLOSE : bytes.length);
  if (!bodyless && x.method !== 'HEAD' && bytes.length > 0) x.client.body(bytes, 0, bytes.length);
  x.client.end(x, '');
  x.client.flush();
}

function pageFor(x: Exchange, status: number): { type: string; body: string } {
  const title = displaySafe(STATUS_CODES[status] ?? 'Error');
  const accept = fieldIn(x.fields, 'accept') ?? '';
  if (accept.includes('json') && !accept.includes('text/html'))
    return { type: 'Content-Type: application/json\r\n', body: JSON.stringify({ error: title, status }) };
  const body = `<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>${status} ${title}</title>\n<body style="font:16px/1.5 system-ui;margin:15vh auto;max-width:30em;text-align:center">\n<h1>${status}</h1><p>${title}</p>\n</html>\n`;
  return { type: 'Content-Type: text/html; charset=utf-8\r\n', body };
}
