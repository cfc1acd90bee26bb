/**
 * Response headers that no site sets or removes. How a message ends and how its connection is used is the business of the
 * proxy (RFC 9110 6.6.2, 7.6.1, 7.8 and 10.1.4, RFC 9112 6 and 9.3): a second length splits an answer of HTTP/1.1, and in
 * HTTP/2 such a field makes the whole message malformed (RFC 9113 8.2.2).
 */
const FRAMING_HEADERS = [
  'connection',
  'content-length',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
] as const;

/** A token (RFC 9110 5.1). */
export const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const FRAMING: ReadonlySet<string> = new Set(FRAMING_HEADERS);

/** For the schema of a route: a pattern is part of the form by which a saved table is known to need another judgement. */
export const NOT_FRAMING = new RegExp(`^(?!(?:${FRAMING_HEADERS.join('|')})$)`, 'i');
export const LONGEST_HEADER_NAME = 256;
export const LONGEST_HEADER_VALUE = 8_192;
/** No control characters, so that a value never ends its line; obs-text (RFC 9110 5.5) is one byte a character. */
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Whether the name, in whatever case, belongs to the proxy. */
export const isFramingHeader = (name: string): boolean => FRAMING.has(name.toLowerCase());
