import type { Condition } from '../../../../shared/condition.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { LONG_URI, UNSAFE_PATH } from '../../exchange/own-answer.ts';
import { pathOf } from '../../exchange/values/query.ts';
import { climbs } from '../../match/climbs.ts';
import { compileCondition } from '../../match/condition.ts';
import { foldsPaths } from '../../match/pattern.ts';
import { answers, type Policy, type PolicyExplanation, passes } from '../policy.ts';

/** Longest path and query that is made for an upstream (bytes). */
export const LONGEST_TARGET = 16_384;

/** The path and query for the upstream; null if they would be too long. */
export type Rewriting = (target: string, x: Exchange) => string | null;

/**
 * A path that begins with exactly one slash. After a second one, or a backslash, URL parsers of upstreams read a host (RFC 3986 4.2,
 * WHATWG URL 4.4), so that the rest might be the path of a guard.
 */
export const absolute = (path: string): string => `/${path.replace(/^[/\\]+/, () => '')}`;

/** Whether a line of the site applies to a request. */
export function compileApplies(match: Condition | undefined, route: RouteSpec): (x: Exchange) => boolean {
  if (match === undefined) return () => true;
  const matches = compileCondition(match, foldsPaths(route));
  return (x) => matches(x.path, x);
}

/**
 * A policy that changes the path and query for the upstream. In `explain` the exchange is one that is not forwarded. `words` describes a
 * change whose result may contain a secret.
 */
export function rewritingPolicy(name: string, rewriting: Rewriting, words: string | null = null): Policy {
  const decide: Policy['decide'] = (x) => {
    const before = x.upstreamTarget;
    // `OPTIONS *` has no path.
    if (before === '*') return null;
    const after = rewriting(before, x);
    if (after === null || after.length > LONGEST_TARGET) return LONG_URI;
    if (after === before) return null;
    if (climbs(pathOf(after))) return UNSAFE_PATH;
    x.upstreamTarget = after;
    return null;
  };
  return {
    name,
    decide,
    explain(x, tools): PolicyExplanation {
      const before = x.upstreamTarget;
      const own = decide(x, tools);
      if (own !== null && typeof own !== 'symbol') return answers(`${own.status}: ${own.reason}`);
      if (x.upstreamTarget === before) return passes('changes nothing');
      return passes(words ?? `${shown(before)} becomes ${shown(x.upstreamTarget)}`);
    },
  };
}

/** A query may contain a secret that an earlier change has added. */
const shown = (target: string): string => (target.includes('?') ? `${pathOf(target)}?…` : target);
