import { TOKEN } from './values/token.ts';

/**
 * Response header fields that a site can neither set nor remove. The proxy itself is responsible for message framing and for the
 * connection (RFC 9110 6.6.2, 7.6.1, 7.8 and 10.1.4, RFC 9112 6 and 9.3): a second Content-Length splits an HTTP/1.1 response, and a
 * connection-specific field makes an HTTP/2 message malformed (RFC 9113 8.2.2).
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

/** RFC 9110 5.1. */
export const HEADER_NAME = TOKEN;
const FRAMING: ReadonlySet<string> = new Set(FRAMING_HEADERS);

/**
 * For the route schema. A pattern, because patterns are part of the schema version that decides whether saved routes are validated again.
 */
export const NOT_FRAMING = new RegExp(`^(?!(?:${FRAMING_HEADERS.join('|')})$)`, 'i');
export const LONGEST_HEADER_NAME = 256;
export const LONGEST_HEADER_VALUE = 8_192;
/** No control characters, so a value never ends its line. obs-text (RFC 9110 5.5) is one byte per character. */
export const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Whether the proxy manages this header field, regardless of case. */
export const isFramingHeader = (name: string): boolean => FRAMING.has(name.toLowerCase());
