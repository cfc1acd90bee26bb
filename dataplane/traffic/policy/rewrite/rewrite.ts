import { type Placeholder, type TemplatePart, templateParts } from '../../../../shared/placeholders/template.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { NO_ANSWER } from '../../exchange/values/placeholders.ts';
import { pathOf, queryOf } from '../../exchange/values/query.ts';
import { compileParts } from '../../exchange/values/template.ts';
import { encodedComponent, encodedParameter, urlSafe } from '../../exchange/values/url-encoding.ts';
import { compilePattern, foldsPaths, remainderIn, remainderOf } from '../../match/pattern.ts';
import type { PolicyKind } from '../policy.ts';
import { absolute, compileApplies, LONGEST_TARGET, type Rewriting, rewritingPolicy } from './rewriting.ts';

type Spec = NonNullable<RouteSpec['rewrites']>[number];

/** `rewrite [<from>] <to>`: the first that matches, of the site and then of the block. */
export const rewrite: PolicyKind = (route, handle) =>
  [route.rewrites, handle?.rewrites].flatMap((specs) => {
    if (specs === undefined || specs.length === 0) return [];
    const lines = specs.map((spec) => compile(spec, route, remainderIn(route, handle)));
    const first: Rewriting = (target, x) => {
      for (const { applies, rewriting } of lines) if (applies(x)) return rewriting(target, x);
      return target;
    };
    return [rewritingPolicy('rewrite', first)];
  });

type Line = { readonly applies: (x: Exchange) => boolean; readonly rewriting: Rewriting };

function compile({ from, to, match }: Spec, route: RouteSpec, ofBlock: (x: EvaluatedRequest) => string): Line {
  const pattern = from === undefined ? null : compilePattern(from, foldsPaths(route));
  const matches = compileApplies(match, route);
  return {
    applies: (x) => (pattern === null || pattern.matches(x.path)) && matches(x),
    rewriting: compileTarget(to, pattern === null ? ofBlock : (x) => remainderOf(pattern, x.path)),
  };
}

/** Without `?` the query is kept, unless a placeholder brings one; without a path the path is kept. */
function compileTarget(to: string, remainder: (x: EvaluatedRequest) => string): Rewriting {
  const [path, query] = splitAtQuery(templateParts(to, 'request'));
  const use = {
    scope: 'request',
    longest: LONGEST_TARGET,
    unsafe: null,
    encode: encodedComponent,
    remainder,
    target: (x: EvaluatedRequest) => x.upstreamTarget,
  } as const;
  const pathOfRequest = compileParts(path, use).evaluate;
  const queryOfRequest = query === null ? null : compileParts(query, { ...use, encode: markedParameter }).evaluate;
  return (target, x) => {
    const written = path.length === 0 ? pathOf(target) : pathOfRequest(x, NO_ANSWER);
    const asked = queryOfRequest === null ? null : queryOfRequest(x, NO_ANSWER);
    if (written === null || (queryOfRequest !== null && asked === null)) return null;
    const kept = written.includes('?') ? queryOf(written) : queryOf(target);
    return urlSafe(withQuery(pathOf(written), asked === null ? kept : withoutAbsent(asked)));
  };
}

/** In place of a query that the request does not have; no value contains it. */
const ABSENT = '\0';

const markedParameter = (value: string, placeholder: Placeholder): string => encodedParameter(value, placeholder) || ABSENT;

/** Where a request has no query for `/x?a=1&{query}`, nothing is to be separated from `a=1`. `a={query}` is a parameter without a value. */
const withoutAbsent = (query: string): string =>
  query.includes(ABSENT) ? query.replace(/&\0(?=&|$)|^\0(?:&|$)/g, '').replaceAll(ABSENT, '') : query;

const withQuery = (path: string, query: string): string => `${absolute(path)}${query === '' ? '' : `?${query}`}`;

/** The parts before the first literal question mark, and those after it; null without one. */
function splitAtQuery(parts: readonly TemplatePart[]): readonly [path: readonly TemplatePart[], query: readonly TemplatePart[] | null] {
  for (const [index, part] of parts.entries()) {
    const mark = 'text' in part ? part.text.indexOf('?') : -1;
    if (mark < 0 || !('text' in part)) continue;
    const [before, after] = [part.text.slice(0, mark), part.text.slice(mark + 1)];
    return [
      [...parts.slice(0, index), ...(before === '' ? [] : [{ text: before }])],
      [...(after === '' ? [] : [{ text: after }]), ...parts.slice(index + 1)],
    ];
  }
  return [parts, null];
}
