import type { RouteSpec } from '../../../../shared/route.ts';
import { type Cidr, matcherOf } from '../../../../shared/values/cidr.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { answers, type Policy, type PolicyKind, passes } from '../policy.ts';

const REFUSED: OwnAnswer = { status: 403, fields: '', body: null, reason: "the site's ip_filter refuses the client's address" };

/** `ip_filter`: the block's own lists, or the site's if the block has none. */
export const ipFilter: PolicyKind = (route, handle) => {
  const spec = handle?.ip_filter ?? route.ip_filter;
  return spec ? [compile(spec)] : [];
};

function compile({ allow, deny = [] }: NonNullable<RouteSpec['ip_filter']>): Policy {
  const isAllowed = allow ? matcherOf(allow) : () => true;
  const isDenied = matcherOf(deny);
  return {
    name: 'ip_filter',
    decide: ({ client: { address } }) => (isAllowed(address) && !isDenied(address) ? null : REFUSED),
    explain({ client: { address } }) {
      const denied = rangeOf(deny, address);
      if (denied !== undefined) return answers(`403: ${address} is in deny ${denied}`);
      if (allow === undefined) return passes(`${address} is in no range of deny`);
      const allowed = rangeOf(allow, address);
      return allowed === undefined ? answers(`403: ${address} is in no range of allow`) : passes(`${address} is in allow ${allowed}`);
    },
  };
}

const rangeOf = (ranges: readonly Cidr[], address: string): Cidr | undefined => ranges.find((range) => matcherOf([range])(address));
