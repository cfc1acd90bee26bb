import type { HttpRoute } from '../../objects/http-route.ts';
import type { TlsRoute } from '../../objects/tls-route.ts';
import { knownBlocksOfRule } from '../rules/known-blocks.ts';
import type { RouteBackends } from '../rules/route-backends.ts';
import { fails, holds, type Verdict } from './verdict.ts';

/** The verdicts on a route that are the same wherever it is attached. */
export type RouteVerdicts = {
  /** Whether what it refers to exists and may be used. */
  readonly resolved: Verdict;
  /** What is not supported, if no match of any rule can be served as written; null if the route can be accepted. */
  readonly invalid: Verdict | null;
  /** What is not supported in some of its rules; null if all can be served as written. */
  readonly partlyInvalid: Verdict | null;
  /** Whether it is not accepted, and no request can match any of its rules: it has no hosts. */
  readonly matchesNothing: boolean;
};

const ANYWHERE = { scheme: 'http', port: 80 } as const;

export function judgeHttpRoute(route: HttpRoute, backends: RouteBackends): RouteVerdicts {
  let unresolved: Verdict | null = null;
  const wrong: Verdict[] = [];
  let [matches, isServed] = [false, false];
  for (const [index, rule] of route.rules.entries()) {
    const results = rule.matches.map((match) => knownBlocksOfRule(route, rule, index + 1, match, ANYWHERE, backends));
    for (const result of results) unresolved ??= result.unresolved;
    matches ||= results.some(({ blocks }) => blocks.length > 0);
    isServed ||= results.some((result) => result.invalid === null);
    const invalid = results.find((result) => result.invalid !== null)?.invalid;
    if (invalid) wrong.push(invalid);
  }
  const message = wrong.map((one) => one.message).join('; ');
  // A rule may have matches that are supported and others that are not.
  const isWhole = wrong.length > 0 && !isServed;
  return {
    resolved: unresolved ?? holds('ResolvedRefs'),
    invalid: isWhole ? fails('UnsupportedValue', message) : null,
    partlyInvalid: wrong.length > 0 && !isWhole ? holds('UnsupportedValue', `Dropped Rule: ${message}`) : null,
    matchesNothing: isWhole && !matches,
  };
}

export function judgeTlsRoute({ kind, meta, backends: refs }: TlsRoute, backends: RouteBackends): RouteVerdicts {
  const faults = refs.map((ref) => backends.resolve({ kind, namespace: meta.namespace }, ref).fault);
  const resolved = faults.find((fault) => fault !== null) ?? holds('ResolvedRefs');
  return { resolved, invalid: null, partlyInvalid: null, matchesNothing: false };
}
