import type { RouteSpec } from '../../../../shared/route.ts';
import { type Cidr, matcherOf } from '../../../../shared/values/cidr.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import type { Countries } from '../../match/countries.ts';
import { answers, type Policy, type PolicyExplanation, type PolicyKind, passes } from '../policy.ts';

type Spec = NonNullable<RouteSpec['ip_filter']>;

const REFUSED: OwnAnswer = { status: 403, fields: '', body: null, reason: "the site's ip_filter refuses the client's address" };
const NO_DATABASE: OwnAnswer = {
  ...REFUSED,
  reason: "the site's ip_filter names countries, and the country database could not be read",
};

/** `ip_filter`: the block's own lists, or the site's if the block has none. */
export const ipFilter: PolicyKind = (route, handle) => {
  const spec = handle?.ip_filter ?? route.ip_filter;
  return spec ? [spec.allow_countries || spec.deny_countries ? byCountry(spec) : byAddress(spec)] : [];
};

function byAddress({ allow, deny = [] }: Spec): Policy {
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

/** Addresses are more specific than countries: `deny`, then `allow`, then `deny_countries`, then `allow_countries`. */
function byCountry(spec: Spec): Policy {
  const { allow = [], deny = [] } = spec;
  const isAllowed = matcherOf(allow);
  const isDenied = matcherOf(deny);
  const judgeCountry = countryJudge(spec);
  return {
    name: 'ip_filter',
    decide({ client: { address } }, { countries }) {
      if (isDenied(address)) return REFUSED;
      if (isAllowed(address)) return null;
      const country = countries.find(address);
      if (!countries.available) return NO_DATABASE;
      return judgeCountry(country) ? null : REFUSED;
    },
    explain({ client: { address } }, { countries }) {
      const denied = rangeOf(deny, address);
      if (denied !== undefined) return answers(`403: ${address} is in deny ${denied}`);
      const allowed = rangeOf(allow, address);
      if (allowed !== undefined) return passes(`${address} is in allow ${allowed}`);
      return explainCountry(address, countries, judgeCountry);
    },
  };
}

/** @returns whether a country is let in; '' is an address without a known country. */
function countryJudge({ allow, allow_countries, deny_countries = [] }: Spec): (country: string) => boolean {
  const allowed = allow_countries && new Set(allow_countries);
  const denied = new Set(deny_countries);
  const others = allow === undefined && allowed === undefined;
  return (country) => !denied.has(country) && (allowed?.has(country) ?? others);
}

function explainCountry(address: string, countries: Countries, judge: (country: string) => boolean): PolicyExplanation {
  const country = countries.find(address);
  if (!countries.available) return answers(`403: ${NO_DATABASE.reason}`);
  const words = country === '' ? `the country of ${address} is unknown` : `${address} is in ${country}`;
  return judge(country) ? passes(`${words}, which is allowed`) : answers(`403: ${words}, which is not allowed`);
}

const rangeOf = (ranges: readonly Cidr[], address: string): Cidr | undefined => ranges.find((range) => matcherOf([range])(address));
