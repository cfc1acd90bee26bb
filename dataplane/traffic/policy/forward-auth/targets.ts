import { isConstant, type Placeholder, type TemplatePart, templateParts } from '../../../../shared/placeholders/template.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { NO_ANSWER } from '../../exchange/values/placeholders.ts';
import { pathOf } from '../../exchange/values/query.ts';
import { compileParts, LONGEST_FIELD_VALUE } from '../../exchange/values/template.ts';
import { encodedComponent, urlSafe } from '../../exchange/values/url-encoding.ts';
import { climbs } from '../../match/climbs.ts';
import { compileLocation } from '../redirect/location.ts';
import { absolute } from '../rewrite/rewriting.ts';

type Remainder = (x: EvaluatedRequest) => string;
/** null if the value would be too long, or lead out of the path that the site has written. */
type Target = (x: EvaluatedRequest) => string | null;

/** The target of requests to the authentication server. */
export function compileUri(text: string, remainder: Remainder): Target {
  const { path, query } = split(text);
  if (isConstant(path) && isConstant(query)) {
    const constant = [...path, ...query].map((part) => ('text' in part ? part.text : '')).join('');
    return () => constant;
  }
  const begin = compiled(path, remainder, encodedComponent);
  const rest = compiled(query, remainder, asParameter);
  return (x) => {
    const target = joined(begin(x), rest(x));
    return target === null || climbs(pathOf(target)) ? null : absolute(target);
  };
}

/** Where a rejected client is redirected. The host is never one that only the client has chosen. */
export function compileReturn(text: string, remainder: Remainder): (x: Parameters<ReturnType<typeof compileLocation>>[0]) => string | null {
  const mark = queryMark(text);
  const begin = compileLocation(text.slice(0, mark), remainder);
  const rest = compiled(templateParts(text.slice(mark), 'request'), remainder, asParameter);
  return (x) => joined(begin(x), rest(x));
}

function compiled(
  parts: readonly TemplatePart[],
  remainder: Remainder,
  encode: (value: string, placeholder: Placeholder) => string,
): Target {
  const { evaluate } = compileParts(parts, { scope: 'request', longest: LONGEST_FIELD_VALUE, unsafe: null, encode, remainder });
  return (x) => {
    const value = evaluate(x, NO_ANSWER);
    return value === null ? null : urlSafe(value);
  };
}

const joined = (begin: string | null, rest: string | null): string | null => (begin === null || rest === null ? null : begin + rest);

function split(text: string): { readonly path: readonly TemplatePart[]; readonly query: readonly TemplatePart[] } {
  const mark = queryMark(text);
  return { path: templateParts(text.slice(0, mark), 'request'), query: templateParts(text.slice(mark), 'request') };
}

/** Where the query begins: the first question mark that is not part of a placeholder, such as `{?query}`. */
function queryMark(text: string): number {
  const mark = text.search(/(?<!\{(?:orig_)?)\?/);
  return mark < 0 ? text.length : mark;
}

/** Encoded as a whole: a client's text must not add a parameter that the authentication server obeys. */
const asParameter = (value: string): string =>
  value.replace(/[^A-Za-z0-9\-._~/:]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
