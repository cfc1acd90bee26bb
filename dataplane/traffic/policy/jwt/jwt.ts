import { createHash } from 'node:crypto';
import type { RouteSpec } from '../../../../shared/route.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { compileCopied } from '../forward-auth/fields.ts';
import { answers, type Policy, type PolicyKind } from '../policy.ts';
import { linesOf, missingClaim, periodOf } from './claims.ts';
import { compileVerifier } from './signature.ts';
import { tokensIn } from './tokens.ts';

type Spec = NonNullable<RouteSpec['jwt']>;
/** What a token with a valid signature allows, and when (seconds). */
type Outcome = { readonly from: number; readonly until: number; readonly lines: string; readonly refusal: OwnAnswer | null };

/** Characters. */
const LONGEST_TOKEN = 8_192;
/** The tokens that a worker remembers for each directive. The least recently used one is evicted first. */
const MOST_REMEMBERED = 1_024;

/** `jwt`: the block's own, or the site's if the block has none. */
export const jwt: PolicyKind = (route, handle) => {
  const spec = handle?.jwt ?? route.jwt;
  return spec ? [compile(spec, route.domain)] : [];
};

function compile(spec: Spec, domain: string): Policy {
  const verifier = compileVerifier(spec.keys);
  const { withoutForged } = compileCopied(spec.copy_claims.map(({ claim, to }) => ({ from: claim, to })));
  const challenge = (status: number, error: string, reason: string): OwnAnswer => ({
    status,
    fields: `WWW-Authenticate: Bearer realm="${domain}"${error === '' ? '' : `, error="${error}"`}\r\n`,
    body: null,
    reason,
  });
  const missing = challenge(401, '', 'no token');
  const several = challenge(400, 'invalid_request', 'the request has several tokens');
  const invalid = (reason: string): OwnAnswer => challenge(401, 'invalid_token', reason);
  const long = invalid(`the token has more than ${LONGEST_TOKEN} characters`);
  const late = invalid('the token has expired');
  const early = invalid('the token is not valid yet');
  const remembered = new Map<string, Outcome>();

  function outcomeOf(token: string): Outcome | OwnAnswer {
    const id = createHash('sha256').update(token).digest('base64');
    const known = remembered.get(id);
    if (known) remembered.delete(id);
    const outcome = known ?? judge(token);
    if ('status' in outcome) return outcome;
    remembered.set(id, outcome);
    if (remembered.size > MOST_REMEMBERED) for (const oldest of remembered.keys()) if (remembered.delete(oldest)) break;
    return outcome;
  }

  function judge(token: string): Outcome | OwnAnswer {
    const verified = verifier(token);
    if ('fault' in verified) return invalid(verified.fault);
    const { claims } = verified;
    const period = periodOf(claims, spec);
    if ('fault' in period) return invalid(period.fault);
    const claim = missingClaim(claims, spec);
    const lines = linesOf(claims, spec);
    if (lines === null) return invalid('a claim cannot be copied to a header');
    const refusal = claim === undefined ? null : challenge(403, 'insufficient_scope', `the token lacks a required claim: ${claim}`);
    return { ...period, lines, refusal };
  }

  return {
    name: 'jwt',
    decide(x, tools) {
      const [token, other] = tokensIn(x, spec.from);
      if (token === undefined) return missing;
      if (other !== undefined) return several;
      if (token.length > LONGEST_TOKEN) return long;
      const outcome = outcomeOf(token);
      if ('status' in outcome) return outcome;
      const now = tools.now() / 1_000;
      if (now >= outcome.until) return late;
      if (now < outcome.from) return early;
      if (outcome.refusal) return outcome.refusal;
      x.upstreamFields = withoutForged(x.upstreamFields) + outcome.lines;
      return null;
    },
    explain: () => answers(`requires a token signed by one of ${spec.keys.length} keys`),
  };
}
