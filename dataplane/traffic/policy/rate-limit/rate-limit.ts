import type { Condition } from '../../../../shared/condition.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import { clientKey } from '../../../ledger/client-key.ts';
import { joinFingerprints, joinHashes, type Key, keyOf } from '../../../ledger/hash.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { compileCondition, type Test } from '../../match/condition.ts';
import { foldsPaths } from '../../match/pattern.ts';
import { answers, type Policy, type PolicyKind, passes } from '../policy.ts';

const OVER: OwnAnswer = { status: 429, fields: 'Retry-After: 1\r\n', body: null, reason: 'over the rate limit' };

/**
 * `rate_limit <n>/s`: per client address (an IPv6 /64 counts as one) and domain, counted over all workers in the ledger. Limits on
 * some requests count in addition to the limit on all.
 */
export const rateLimit: PolicyKind = (route, handle, index) => {
  const policies = limitsOf(route, `rate\n${route.domain}`, foldsPaths(route));
  if (handle !== null)
    policies.push(
      ...limitsOf(handle, `rate\n${route.domain}\n${handle.path ?? index}${handle.match ? `\n${index}` : ''}`, foldsPaths(route)),
    );
  return policies;
};

function limitsOf(
  { rate_limit_rps, rate_limits = [] }: Pick<RouteSpec, 'rate_limit_rps' | 'rate_limits'>,
  scope: string,
  folds: boolean,
): Policy[] {
  const policies = rate_limits.map(({ rps, match }) =>
    onlyWhere(compileCondition(match, folds), match, limit(rps, keyOf(`${scope}\n${JSON.stringify(match)}`))),
  );
  if (rate_limit_rps !== null) policies.push(limit(rate_limit_rps, keyOf(scope)));
  return policies;
}

function onlyWhere(matches: Test, match: Condition, policy: Policy): Policy {
  return {
    name: policy.name,
    decide: (x, tools) => (matches(x.path, x) ? policy.decide(x, tools) : null),
    explain: (x, tools) => (matches(x.path, x) ? policy.explain(x, tools) : passes(`${match.name ?? 'its condition'} does not match`)),
  };
}

function limit(rate: number, scope: Key): Policy {
  return {
    name: 'rate_limit',
    decide(x, tools) {
      const client = clientKey(x.client.address);
      return tools.admit(joinHashes(scope, client), joinFingerprints(scope, client), rate, tools.now()) ? null : OVER;
    },
    explain(x, tools) {
      const client = clientKey(x.client.address);
      const within = tools.wouldAdmit(joinHashes(scope, client), joinFingerprints(scope, client), rate, tools.now());
      return within ? passes(`within ${rate}/s`) : answers(`over ${rate}/s: 429`);
    },
  };
}
