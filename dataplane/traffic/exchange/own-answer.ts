import { MAX_HOPS } from '../codec/hops.ts';

/** A response that comes from the proxy itself. */
export type OwnAnswer = {
  readonly status: number;
  /** Fields in addition to the defaults, as lines. */
  readonly fields: string;
  /** null: the small default page for the status, as HTML or JSON depending on what the client accepts. */
  readonly body: string | Buffer | null;
  /** For the log and for `explain`; never sent to clients. */
  readonly reason: string;
  /** Whether `header` does not apply to it, because the site's fields would break it or cause it to be stored. */
  readonly sealed?: true;
  /** Whether another server sent it. Its own values of the default fields then override the defaults. */
  readonly relayed?: true;
};

/** A cache in front would keep a 404 without a word (RFC 9111 4.2.2), also once the host has a route, as moments after a first start. */
export const NO_ROUTE: OwnAnswer = {
  status: 404,
  fields: 'Cache-Control: no-store\r\n',
  body: null,
  reason: 'no route for this host',
};
export const NO_BLOCK: OwnAnswer = { status: 404, fields: '', body: null, reason: 'no block of the site matches this path' };
export const OWN_PATH: OwnAnswer = {
  status: 404,
  fields: '',
  body: null,
  reason: 'the path is reserved for the proxy, and nothing is served there',
};
export const AMBIGUOUS_PATH: OwnAnswer = {
  status: 400,
  fields: '',
  body: null,
  reason: 'the path or method may belong to another block or rule of a site that has access rules',
};
/** RFC 9110 15.5.14. @param max bytes. */
export const bodyTooLarge = (max: number): OwnAnswer => ({
  status: 413,
  fields: '',
  body: null,
  reason: `the request body is larger than request_body allows (${max} bytes)`,
});
/** A rewritten path that a client has managed to lead out of the site's own prefix. */
export const UNSAFE_PATH: OwnAnswer = {
  status: 400,
  fields: '',
  body: null,
  reason: 'the rewritten path would have ".." as a segment',
};
export const LONG_URI: OwnAnswer = { status: 414, fields: '', body: null, reason: 'the rewritten path and query would be too long' };
/** A value made of placeholders would split a field, or is longer than allowed. */
export const UNSAFE_VALUE: OwnAnswer = {
  status: 400,
  fields: '',
  body: null,
  reason: 'a value made from the request has a control character or is too long',
};
/** RFC 9110 15.5.20: the client may retry on a different connection. */
export const MISDIRECTED: OwnAnswer = {
  status: 421,
  fields: '',
  body: null,
  reason: 'the certificate of this connection does not cover the host',
};
/** The same, where TLS connections for the host don't end here: its targets have a certificate of their own, and may be someone else's. */
export const PASSED_ON: OwnAnswer = {
  status: 421,
  fields: '',
  body: null,
  reason: 'TLS connections for the host are passed on, and this one was not',
};
/** The same, where the two hosts differ in their client certificate rules: what the client presented was meant for another name. */
export const OTHER_RULE: OwnAnswer = {
  status: 421,
  fields: '',
  body: null,
  reason: 'the connection was made under a different client certificate rule than the one of the host',
};
/** RFC 5842 7.2: the request loops through this proxy or others like it. */
export const LOOP: OwnAnswer = {
  status: 508,
  fields: '',
  body: null,
  reason: `the request has passed through ${MAX_HOPS} proxies like this one: a route leads back to the proxy itself`,
};
/** For OPTIONS and TRACE that must not be forwarded further (RFC 9110 7.6.2). The request is never echoed: it may hold secrets (9.3.8). */
export const LAST_HOP: OwnAnswer = { status: 200, fields: '', body: '', reason: 'Max-Forwards is 0' };
export const NO_TRACE: OwnAnswer = { status: 405, fields: 'Allow: OPTIONS\r\n', body: null, reason: 'Max-Forwards is 0' };
