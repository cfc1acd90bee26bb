import { joinPlace, joinTag, type Key, keyOf } from '../../../ledger/hash.ts';
import type { OwnAnswer } from '../../answer.ts';
import type { Policy, PolicyKind } from '../order.ts';

const OVER: OwnAnswer = { status: 429, fields: 'Retry-After: 1\r\n', body: null, reason: 'over the rate limit' };

/** Addresses of clients seen lately, hashed once; far more than a worker has connections. */
const KNOWN_CLIENTS = 16_384;
const clients = new Map<string, Key>();

/** `rate_limit <n>/s`: per client address and domain, counted over all workers in the ledger. */
export const rateLimit: PolicyKind = (route, handle, index) => {
  const policies: Policy[] = [];
  if (route.rate_limit_rps !== null) policies.push(limit(route.rate_limit_rps, keyOf(`rate\n${route.domain}`)));
  if (handle?.rate_limit_rps != null) policies.push(limit(handle.rate_limit_rps, keyOf(`rate\n${route.domain}\n${handle.path ?? index}`)));
  return policies;
};

function limit(rate: number, scope: Key): Policy {
  return {
    name: 'rate_limit',
    decide(x, tools) {
      const client = clientKey(x.client.address);
      return tools.admit(joinPlace(scope, client), joinTag(scope, client), rate, tools.now()) ? null : OVER;
    },
    explain(x, tools) {
      const client = clientKey(x.client.address);
      const within = tools.wouldAdmit(joinPlace(scope, client), joinTag(scope, client), rate, tools.now());
      return within ? `within ${rate}/s` : `over ${rate}/s: 429`;
    },
  };
}

function clientKey(address: string): Key {
  const known = clients.get(address);
  if (known !== undefined) return known;
  if (clients.size >= KNOWN_CLIENTS) clients.clear();
  const key = keyOf(address);
  clients.set(address, key);
  return key;
}
