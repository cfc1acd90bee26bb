import { formDecodedText } from '../../values/form-decoded.ts';

/** Which query parameters decide which response a request gets: only the named ones, all but the named ones, or all if neither is given. */
export type QueryRule = { readonly query?: readonly string[] | undefined; readonly ignore_query?: readonly string[] | undefined };

/**
 * Compiles a rule to a function that reduces targets. A target that is not reduced stays the same string. null if the rule never reduces a
 * target.
 */
export function compileQueryRule({ query, ignore_query: ignored }: QueryRule): ((target: string) => string) | null {
  const isNamed = compileNames(query ?? ignored ?? []);
  if (query === undefined && ignored === undefined) return null;
  const keeps = (pair: string): boolean => isNamed(nameIn(pair)) === (query !== undefined);
  return (target) => {
    const mark = target.indexOf('?');
    if (mark < 0) return target;
    const pairs = target.slice(mark + 1).split('&');
    const kept = pairs.filter(keeps);
    if (kept.length === pairs.length) return target;
    return kept.length === 0 ? target.slice(0, mark) : `${target.slice(0, mark)}?${kept.join('&')}`;
  };
}

/** A name may end with `*`, which stands for any text. */
function compileNames(names: readonly string[]): (name: string) => boolean {
  const exact = new Set(names.filter((name) => !name.endsWith('*')));
  const prefixes = names.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  if (prefixes.includes('')) return () => true;
  // A long query has thousands of parameters, most of which no prefix can match.
  const byFirst = Map.groupBy(prefixes, (prefix) => prefix.charCodeAt(0));
  return (name) => exact.has(name) || byFirst.get(name.charCodeAt(0))?.some((prefix) => name.startsWith(prefix)) === true;
}

/** Decoded as in a form; unchanged if that fails. */
function nameIn(pair: string): string {
  const equals = pair.indexOf('=');
  const name = equals < 0 ? pair : pair.slice(0, equals);
  return formDecodedText(name);
}
