import type { RouteSpec } from '../../../../shared/route.ts';
import { compileReplacement } from '../../../../shared/values/regexp.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { pathOf, queryOf } from '../../exchange/values/query.ts';
import { urlSafe } from '../../exchange/values/url-encoding.ts';
import { withoutPrefix } from '../../match/path.ts';
import { foldsPaths, remainderIn } from '../../match/pattern.ts';
import type { PolicyKind } from '../policy.ts';
import { absolute, compileApplies, LONGEST_TARGET, type Rewriting, rewritingPolicy } from '../rewrite/rewriting.ts';
import { compileQueryChange } from './query-change.ts';

type Spec = NonNullable<RouteSpec['uri']>[number];

/** `uri …`: every line that matches, the site's before the block's. */
export const uri: PolicyKind = (route, handle) =>
  [...(route.uri ?? []), ...(handle?.uri ?? [])].map((spec) => {
    const applies = compileApplies(spec.match, route);
    const change = compile(spec, foldsPaths(route), remainderIn(route, handle));
    const { query } = spec;
    const words = query === undefined ? null : `changes the query parameter ${query.name}`;
    return rewritingPolicy('uri', (target, x) => (applies(x) ? change(target, x) : target), words);
  });

function compile(spec: Spec, folds: boolean, remainder: (x: EvaluatedRequest) => string): Rewriting {
  const { strip_prefix, strip_suffix, replace, path_regexp, query } = spec;
  if (strip_prefix !== undefined) return withoutStart(folds ? strip_prefix.toLowerCase() : strip_prefix, folds);
  if (strip_suffix !== undefined) return onPath((path) => (path.endsWith(strip_suffix) ? path.slice(0, -strip_suffix.length) : path));
  if (replace !== undefined) return (target) => safe(replaced(target, replace.find, replace.by, replace.limit ?? target.length));
  if (path_regexp !== undefined) return onPath(compileReplacement(path_regexp.pattern, path_regexp.by, LONGEST_TARGET));
  if (query === undefined) throw new Error('a change of uri without a kind');
  const change = compileQueryChange(query, remainder);
  return (target, x) => {
    const changed = change(queryOf(target), x);
    return changed === null ? null : `${pathOf(target)}${changed === '' ? '' : `?${changed}`}`;
  };
}

/** Changes the path and keeps the query. */
const onPath =
  (change: (path: string) => string | null): Rewriting =>
  (target) => {
    const path = pathOf(target);
    const changed = change(path);
    return changed === null ? null : `${absolute(urlSafe(changed))}${target.slice(path.length)}`;
  };

const safe = (target: string | null): string | null => (target === null ? null : absolute(urlSafe(target)));

const withoutStart =
  (prefix: string, folds: boolean): Rewriting =>
  (target) => {
    const rest = withoutPrefix(target, prefix, folds);
    return rest === target ? target : absolute(rest);
  };

/** @returns null if the result would be too long. */
function replaced(text: string, find: string, by: string, limit: number): string | null {
  const pieces = text.split(find, limit + 1);
  if (pieces.length === limit + 1) pieces[limit] = text.slice(lengthOf(pieces.slice(0, limit), find));
  if (text.length + (pieces.length - 1) * (by.length - find.length) > LONGEST_TARGET) return null;
  return pieces.join(by);
}

const lengthOf = (pieces: readonly string[], find: string): number => pieces.reduce((sum, piece) => sum + piece.length + find.length, 0);
