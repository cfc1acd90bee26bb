import { parseRegexp, parseReplacement } from '../../values/regexp.ts';

export const MAX_URI_CHANGES = 1_000;
export const LONGEST_URI_TEXT = 8_192;

/** A change of a query parameter: set to one value, added, removed, or renamed. */
export const QUERY_OPERATIONS = ['set', 'add', 'remove', 'rename'] as const;

export type UriChange = {
  strip_prefix?: string | undefined;
  strip_suffix?: string | undefined;
  replace?: { find: string; by: string; limit?: number | undefined } | undefined;
  path_regexp?: { pattern: string; by: string } | undefined;
  query?: { name: string; op: (typeof QUERY_OPERATIONS)[number]; value?: string | undefined } | undefined;
};

/** Text that is inserted into a path or a query as it is. */
const URI_TEXT = /^[\x21-\x7e]*$/;

/** What is wrong with a change, for the file and the API alike; undefined if nothing is. */
export function faultOfChange(change: UriChange): string | undefined {
  const { strip_prefix, strip_suffix, replace, path_regexp, query } = change;
  const given = [strip_prefix, strip_suffix, replace, path_regexp, query].filter((one) => one !== undefined);
  if (given.length !== 1) return 'it has exactly one of strip_prefix, strip_suffix, replace, path_regexp and query';
  const texts = [strip_prefix, strip_suffix, replace?.find, replace?.by].filter((text) => text !== undefined);
  if (texts.some((text) => text.length > LONGEST_URI_TEXT)) return `a text is at most ${LONGEST_URI_TEXT} characters long`;
  if (texts.some((text) => !URI_TEXT.test(text) || text.includes('#')))
    return 'the text contains a character that must be percent-encoded in a URL';
  if (strip_prefix !== undefined && !/^\/.*[^/]$/.test(strip_prefix)) return 'a prefix begins with "/" and does not end with it';
  if (strip_suffix === '' || replace?.find === '') return 'the text to find is empty';
  if (path_regexp !== undefined) return faultOfExpression(path_regexp);
  if (query === undefined) return undefined;
  if (query.name === '' || query.name.length > 1_024) return 'the name of a parameter has 1 to 1,024 characters';
  if (query.op === 'rename' && query.value === '') return 'it has no new name';
  return (query.op === 'remove') === (query.value === undefined)
    ? undefined
    : `${query.op} ${query.op === 'remove' ? 'takes no' : 'needs a'} value`;
}

function faultOfExpression({ pattern, by }: { readonly pattern: string; readonly by: string }): string | undefined {
  const expression = parseRegexp(pattern);
  if (!expression.ok) return expression.reason;
  if (by.length > LONGEST_URI_TEXT || !URI_TEXT.test(by) || /[?#]/.test(by))
    return 'the replacement contains a character that must be percent-encoded in a path';
  const replacement = parseReplacement(pattern, by);
  return replacement.ok ? undefined : replacement.reason;
}
