import type { Condition } from '../../../../shared/condition.ts';
import { rateOf } from '../../../../shared/policy/rate-limit/rate-of.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import type { RatePeriod } from '../../../../shared/values/rate.ts';
import { joinFingerprints, joinHashes, type Key, keyOf } from '../../../ledger/hash.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { compileCondition, type Test } from '../../match/condition.ts';
import { foldsPaths, remainderIn } from '../../match/pattern.ts';
import { answers, type Policy, type PolicyKind, passes } from '../policy.ts';
import { byAddress, byHeader, byText, type ClientOf } from './client-of.ts';

const SHORT: Readonly<Record<RatePeriod, string>> = { second: 's', minute: 'm', hour: 'h' };

/**
 * `rate_limit <n>/s|m|h`: per client address (an IPv6 /64 counts as one) or value of a header field or text with placeholders, and per
 * domain, counted over all workers in the ledger. Limits on some requests count in addition to the limit on all.
 */
export const rateLimit: PolicyKind = (route, handle, index) => {
  const policies = limitsOf(route, `rate\n${route.domain}`, foldsPaths(route), remainderIn(route, null));
  if (handle !== null)
    policies.push(
      ...limitsOf(
        handle,
        `rate\n${route.domain}\n${handle.path ?? index}${handle.match ? `\n${index}` : ''}`,
        foldsPaths(route),
        remainderIn(route, handle),
      ),
    );
  return policies;
};

function limitsOf(
  { rate_limit_rps, rate_limits = [] }: Pick<RouteSpec, 'rate_limit_rps' | 'rate_limits'>,
  scope: string,
  folds: boolean,
  remainder: (x: EvaluatedRequest) => string,
): Policy[] {
  const policies = rate_limits.map((spec) => {
    const { match } = spec;
    const { requests, period } = rateOf(spec);
    const key = keyOf(`${scope}\n${JSON.stringify(spec)}`);
    const policy = limit(requests, period, key, clientOf(spec, folds, remainder));
    return match ? onlyWhere(compileCondition(match, folds), match, policy) : policy;
  });
  if (rate_limit_rps !== null) policies.push(limit(rate_limit_rps, 'second', keyOf(scope), byAddress));
  return policies;
}

function onlyWhere(matches: Test, match: Condition, policy: Policy): Policy {
  return {
    name: policy.name,
    decide: (x, tools) => (matches(x.path, x) ? policy.decide(x, tools) : null),
    explain: (x, tools) => (matches(x.path, x) ? policy.explain(x, tools) : passes(`${match.name ?? 'its condition'} does not match`)),
  };
}

function clientOf(
  { header, key }: { readonly header?: string | undefined; readonly key?: string | undefined },
  folds: boolean,
  remainder: (x: EvaluatedRequest) => string,
): ClientOf {
  if (key !== undefined) return byText(key, folds, remainder);
  return header === undefined ? byAddress : byHeader(header);
}

function limit(rate: number, period: RatePeriod, scope: Key, keyFor: ClientOf): Policy {
  return {
    name: 'rate_limit',
    decide(x, { rates, now }) {
      if (x.admitted) return null;
      const client = keyFor(x);
      const hash = joinHashes(scope, client);
      const fingerprint = joinFingerprints(scope, client);
      const time = now();
      if (rates[period].admit(hash, fingerprint, rate, time)) return null;
      return over(period === 'second' ? 1 : Math.ceil(rates[period].waitMs(hash, fingerprint, rate, time) / 1_000));
    },
    explain(x, { rates, now }) {
      const client = keyFor(x);
      const within = rates[period].wouldAdmit(joinHashes(scope, client), joinFingerprints(scope, client), rate, now());
      const words = `${rate}/${SHORT[period]}`;
      return within ? passes(`within ${words}`) : answers(`over ${words}: 429`);
    },
  };
}

/** @param seconds until the next request is admitted. */
const over = (seconds: number): OwnAnswer => ({
  status: 429,
  fields: `Retry-After: ${Math.max(1, seconds)}\r\n`,
  body: null,
  reason: 'over the rate limit',
});
