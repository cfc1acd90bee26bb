/**
 * A URL and the target of a request for it (RFC 9112 3.2.1), as a client sends it that changes nothing. Browsers and URL parsers remove dot
 * segments and turn backslashes into slashes, but hostile clients do not. `origin` has no path.
 */
export type RequestUrl = { readonly origin: URL; readonly target: string };

/** What no request line can contain is escaped, as every client does. */
const UNSENDABLE = /[^\x21-\x7e]+/gu;

/** Reads `HOST[/PATH]` or a whole URL. null if it is not an HTTP URL. A fragment is not sent. */
export function parseRequestUrl(text: string): RequestUrl | null {
  const [, scheme = 'http://', authority = '', path = ''] = /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#\\]*)([^#]*)/i.exec(text.trim()) ?? [];
  const origin = URL.parse(scheme + authority);
  if (origin === null || origin.hostname === '' || !/^https?:$/.test(origin.protocol)) return null;
  const target = path.toWellFormed().replace(UNSENDABLE, (text) => encodeURIComponent(text));
  return { origin, target: target.startsWith('/') ? target : `/${target}` };
}

/** The URL with the target as it is, which a URL object would change. */
export const textOf = ({ origin, target }: RequestUrl): string => `${origin.protocol}//${origin.host}${target}`;
