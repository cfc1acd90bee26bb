import type { RouteInput } from '../../../../../shared/route.ts';
import { withoutEndSlashes } from '../../../../../shared/values/path.ts';
import type { HttpMatch, PathMatcher, TextMatch } from '../../objects/http-route.ts';

type Condition = NonNullable<NonNullable<NonNullable<RouteInput['handles']>[number]['match']>>;
export type MatchMembers = Pick<Condition, 'path' | 'path_regexp' | 'method' | 'header' | 'header_regexp' | 'query' | 'query_regexp'>;

/** Translates a match to the condition of a block. Empty for every request. */
export function conditionOfMatch({ path, method, headers, query }: HttpMatch): MatchMembers {
  const exact = (list: readonly TextMatch[]) => list.filter(({ type }) => type === 'Exact');
  const patterns = (list: readonly TextMatch[]) => list.filter(({ type }) => type === 'RegularExpression').map(patternOf);
  const own = distinct(headers, ({ name }) => name.toLowerCase());
  const parameters = distinct(query, ({ name }) => name);
  return {
    ...pathCondition(path),
    ...(method !== null && { method: [method] }),
    ...some(
      'header',
      exact(own).map(({ name, value }) => ({ name, values: [value], exact: true as const })),
    ),
    ...some('header_regexp', patterns(own)),
    ...some(
      'query',
      exact(parameters).map(({ name, value }) => ({ name, values: [value] })),
    ),
    ...some('query_regexp', patterns(parameters)),
  };
}

const some = <Name extends string, Item>(name: Name, items: readonly Item[]) =>
  (items.length === 0 ? {} : { [name]: items }) as { readonly [name in Name]?: Item[] };

/** The API ignores all but the first of several with one name. */
function distinct(list: readonly TextMatch[], keyOf: (match: TextMatch) => string): TextMatch[] {
  const found = new Map<string, TextMatch>();
  for (const match of list) if (!found.has(keyOf(match))) found.set(keyOf(match), match);
  return [...found.values()];
}

const whole = (pattern: string): string => `^(?:${pattern})$`;
const patternOf = ({ name, value }: TextMatch) => ({ name, pattern: whole(value) });

/** A path is plain text, whereas patterns of the proxy give `*` a meaning. Prefixes match whole segments. */
function pathCondition({ type, value }: PathMatcher): Pick<Condition, 'path' | 'path_regexp'> {
  if (type === 'RegularExpression') return { path_regexp: [whole(value)] };
  const path = type === 'Exact' ? value : withoutEndSlashes(value);
  if (type === 'PathPrefix' && path === '') return {};
  if (path.includes('*')) return { path_regexp: [whole(escaped(path) + (type === 'Exact' ? '' : '(?:/.*)?'))] };
  return { path: type === 'Exact' ? [path] : [path, `${path}/*`] };
}

const escaped = (text: string): string => text.replace(/[.+*?^$()[\]{}|\\]/g, '\\$&');

/** How specific a match is: if several match a request, the first one in this order is used. */
export function compareMatches(a: HttpMatch, b: HttpMatch): number {
  return (
    rankOf(a.path) - rankOf(b.path) ||
    lengthOf(b.path) - lengthOf(a.path) ||
    Number(a.method === null) - Number(b.method === null) ||
    b.headers.length - a.headers.length ||
    b.query.length - a.query.length
  );
}

const rankOf = ({ type, isLate }: PathMatcher): number =>
  ['Exact', 'RegularExpression', 'PathPrefix'].indexOf(isLate ? 'PathPrefix' : type);
/** Longer than `/`, and shorter than any prefix with a segment. */
const LATE_LENGTH = 1.5;
const lengthOf = ({ value, isLate }: PathMatcher): number => (isLate ? LATE_LENGTH : value.length);
