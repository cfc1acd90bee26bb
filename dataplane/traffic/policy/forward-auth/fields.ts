import { foldedName } from '../../codec/http1/field-names.ts';
import { fieldsIn } from '../../codec/http1/kept-lines.ts';
import type { Exchange } from '../../exchange/exchange.ts';

/** The fields that the upstream gets from the authentication server. */
export type CopiedFields = {
  /** Whether only the authentication server may set a field, whose name is folded. */
  decides(folded: string): boolean;
  /** The request's fields without those that only the authentication server may set. */
  withoutForged(fields: string): string;
  /** Lines for the request, from the fields of the authentication server's response. */
  linesFrom(fields: string): string;
};

export function compileCopied(list: readonly { readonly from: string; readonly to: string }[]): CopiedFields {
  const names = new Set(list.map(({ to }) => foldedName(to)));
  return {
    decides: (folded) => names.has(folded),
    withoutForged: (fields) => (names.size === 0 ? fields : without(fields, names)),
    linesFrom: (fields) =>
      list.flatMap(({ from, to }) => fieldsIn(fields, from.toLowerCase()).map((value) => `${to}: ${value}\r\n`)).join(''),
  };
}

/** The cookies that the authentication server sets, as lines for the client. */
export const cookieLines = (fields: string): string =>
  fieldsIn(fields, 'set-cookie')
    .map((value) => `Set-Cookie: ${value}\r\n`)
    .join('');

/** Fields about a body or trailers that are not sent (no expectation without content, RFC 9110 10.1.1), or that would make the answer depend on what the client has stored (RFC 9110 13, 14). */
const ABOUT_CONTENT = new Set([
  ...['content-encoding', 'content-language', 'content-location', 'content-type', 'expect', 'range', 'trailer'],
  ...['if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since'],
  // The proxy's own, which the client must not forge.
  ...['x-forwarded-method', 'x-forwarded-uri'],
]);

/** The fields of a request that the authentication server gets: those of a verified token, and none that a client has forged. */
export const requestFields = (x: Exchange): string => without(x.upstreamFields, ABOUT_CONTENT);

const without = (fields: string, names: ReadonlySet<string>): string =>
  fields
    .split('\r\n')
    .filter((line) => line === '' || !names.has(foldedName(line.slice(0, line.indexOf(':')))))
    .join('\r\n');
