import { sourceName } from '../../../../shared/policy/jwt/key-source.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import { clientKey } from '../../../ledger/client-key.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { compileCopied } from '../forward-auth/fields.ts';
import { answers, LATER, type Policy, type PolicyKind, type PolicyTools } from '../policy.ts';
import { challengeFor } from './challenge.ts';
import { compileVerifier } from './signature.ts';
import { tokensIn } from './tokens.ts';
import { type TokenResult, VerifiedTokens } from './verified-tokens.ts';

type Spec = NonNullable<RouteSpec['jwt']>;

/** Characters. */
const LONGEST_TOKEN = 8_192;

/** `jwt`: the block's own, or the site's if the block has none. */
export const jwt: PolicyKind = (route, handle) => {
  const spec = handle?.jwt ?? route.jwt;
  return spec ? [compile(spec, route.domain)] : [];
};

function compile(spec: Spec, domain: string): Policy {
  const { keys, key_source: source } = spec;
  const name = source === undefined ? null : sourceName(source);
  const own = keys === undefined ? null : compileVerifier(keys);
  const tokens = new VerifiedTokens(spec, domain);
  const { withoutForged, decides } = compileCopied(spec.copy_claims.map(({ claim, to }) => ({ from: claim, to })));
  const missing = challengeFor(domain, 401, null, 'no token');
  const several = challengeFor(domain, 400, 'invalid_request', 'the request has several tokens');
  const invalid = (reason: string): OwnAnswer => challengeFor(domain, 401, 'invalid_token', reason);
  const long = invalid(`the token has more than ${LONGEST_TOKEN} characters`);
  const late = invalid('the token has expired');
  const early = invalid('the token is not valid yet');

  /** null while there are no keys. */
  function resultFor(x: Exchange, token: string, tools: PolicyTools): TokenResult | null {
    const verify = own ?? (name === null ? null : (tools.keySets.get(name)?.verify ?? null));
    return verify && tokens.resultFor(token, verify, clientKey(x.client.address), tools);
  }

  function conclude(x: Exchange, result: TokenResult | null, tools: PolicyTools): OwnAnswer | null {
    if (result === null) return withoutKeys((name === null ? null : tools.keySets.get(name)?.failure) ?? 'they are being fetched');
    if ('status' in result) return result;
    if ('fault' in result) return invalid(result.fault);
    const now = tools.now() / 1_000;
    if (now >= result.until) return late;
    if (now < result.from) return early;
    if (result.refusal) return result.refusal;
    x.upstreamFields = withoutForged(x.upstreamFields) + result.lines;
    return null;
  }

  return {
    name: 'jwt',
    decide(x, tools) {
      const [token, other] = tokensIn(x, spec.from);
      if (token === undefined) return missing;
      if (other !== undefined) return several;
      if (token.length > LONGEST_TOKEN) return long;
      const result = resultFor(x, token, tools);
      if (name === null || !mayNeedOtherKeys(result) || !tools.keySets.mayWait(name)) return conclude(x, result, tools);
      tools.keySets.wait(name, x, () => conclude(x, resultFor(x, token, tools), tools));
      return LATER;
    },
    decidesField: decides,
    explain(_, { keySets }) {
      if (source === undefined || name === null) return answers(`requires a token signed by one of ${keys?.length ?? 0} keys`);
      const set = keySets.get(name);
      if (set === null || set.verify === null)
        return answers(`503: the keys of ${source.url} are missing: ${set?.failure ?? 'they are being fetched'}`);
      const stale = set.failure === null ? '' : `, which can't be fetched any more: ${set.failure}`;
      return answers(`requires a token signed by one of the ${set.count} keys of ${source.url}${stale}`);
    },
  };
}

const mayNeedOtherKeys = (result: TokenResult | null): boolean => result === null || 'unknownKey' in result;

const withoutKeys = (why: string): OwnAnswer => ({
  status: 503,
  fields: 'Retry-After: 10\r\n',
  body: null,
  reason: `the keys that verify tokens are missing: ${why}`,
});
