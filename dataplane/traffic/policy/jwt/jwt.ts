import { createHash } from 'node:crypto';
import { sourceName } from '../../../../shared/policy/jwt/key-source.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import { clientKey } from '../../../ledger/client-key.ts';
import { joinFingerprints, joinHashes, type Key, keyOf } from '../../../ledger/hash.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { compileCopied } from '../forward-auth/fields.ts';
import { answers, LATER, type Policy, type PolicyKind, type PolicyTools } from '../policy.ts';
import { linesOf, missingClaim, periodOf } from './claims.ts';
import { compileVerifier, type TokenFault, type Verifier } from './signature.ts';
import { tokensIn } from './tokens.ts';

type Spec = NonNullable<RouteSpec['jwt']>;
/** The claims of a token with a valid signature, and when they apply (seconds). */
type Outcome = { readonly from: number; readonly until: number; readonly lines: string; readonly refusal: OwnAnswer | null };

/** Characters. */
const LONGEST_TOKEN = 8_192;
/** The tokens that a worker remembers for each directive. The least recently used one is evicted first. */
const MAX_REMEMBERED = 1_024;
/** How many wrong signatures per second one client may send, over all workers and sites; each costs 0.1 ms or more. */
const MAX_FORGED = 20;
const FORGED = keyOf('wrong signatures of tokens');

const GUESSING: OwnAnswer = {
  status: 429,
  fields: 'Retry-After: 1\r\n',
  body: null,
  reason: `the client has sent more than ${MAX_FORGED} tokens with wrong signatures in a second`,
};
const unavailable = (why: string): OwnAnswer => ({
  status: 503,
  fields: 'Retry-After: 10\r\n',
  body: null,
  reason: `the keys that verify tokens are missing: ${why}`,
});

/** `jwt`: the block's own, or the site's if the block has none. */
export const jwt: PolicyKind = (route, handle) => {
  const spec = handle?.jwt ?? route.jwt;
  return spec ? [compile(spec, route.domain)] : [];
};

function compile(spec: Spec, domain: string): Policy {
  const { keys, key_source: source } = spec;
  const name = source === undefined ? null : sourceName(source);
  const own = keys === undefined ? null : compileVerifier(keys);
  const { withoutForged, decides } = compileCopied(spec.copy_claims.map(({ claim, to }) => ({ from: claim, to })));
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
  /** Tokens that `rememberedFor` has verified. */
  const remembered = new Map<string, Outcome>();
  let rememberedFor: Verifier | null = own;

  function outcomeOf(token: string, verify: Verifier, client: Key, tools: PolicyTools): Outcome | OwnAnswer | TokenFault {
    if (rememberedFor !== verify) remembered.clear();
    rememberedFor = verify;
    const id = createHash('sha256').update(token).digest('base64');
    const known = remembered.get(id);
    if (known) remembered.delete(id);
    const outcome = known ?? judge(token, verify, client, tools);
    if (!('lines' in outcome)) return outcome;
    remembered.set(id, outcome);
    if (remembered.size > MAX_REMEMBERED) for (const oldest of remembered.keys()) if (remembered.delete(oldest)) break;
    return outcome;
  }

  function judge(token: string, verify: Verifier, client: Key, { rates, now }: PolicyTools): Outcome | OwnAnswer | TokenFault {
    const time = now();
    const [hash, fingerprint] = [joinHashes(FORGED, client), joinFingerprints(FORGED, client)];
    if (!rates.second.wouldAdmit(hash, fingerprint, MAX_FORGED, time)) return GUESSING;
    const verified = verify(token, (claims) => {
      const period = periodOf(claims, spec);
      if ('fault' in period) return period;
      return time / 1_000 >= period.until ? { fault: 'the token has expired' } : null;
    });
    if ('fault' in verified) {
      if (verified.forged) rates.second.admit(hash, fingerprint, MAX_FORGED, time);
      return verified;
    }
    const { claims } = verified;
    const period = periodOf(claims, spec);
    if ('fault' in period) return period;
    const claim = missingClaim(claims, spec);
    const lines = linesOf(claims, spec);
    if (lines === null) return { fault: 'a claim cannot be copied to a header' };
    const refusal = claim === undefined ? null : challenge(403, 'insufficient_scope', `the token lacks a required claim: ${claim}`);
    return { ...period, lines, refusal };
  }

  /** `patient`: whether the request may wait for keys. */
  function decide(x: Exchange, token: string, tools: PolicyTools, patient: boolean): OwnAnswer | null | typeof LATER {
    const { keySets } = tools;
    const set = name === null ? null : keySets.get(name);
    const verify = own ?? set?.verify ?? null;
    const outcome = verify && outcomeOf(token, verify, clientKey(x.client.address), tools);
    if (name !== null && patient && (outcome === null || 'unknownKey' in outcome) && keySets.mayWait(name)) {
      keySets.wait(name, x, () => decide(x, token, tools, false) as OwnAnswer | null);
      return LATER;
    }
    if (outcome === null) return unavailable(set?.failure ?? 'they are being fetched');
    if ('status' in outcome) return outcome;
    if ('fault' in outcome) return invalid(outcome.fault);
    const now = tools.now() / 1_000;
    if (now >= outcome.until) return late;
    if (now < outcome.from) return early;
    if (outcome.refusal) return outcome.refusal;
    x.upstreamFields = withoutForged(x.upstreamFields) + outcome.lines;
    return null;
  }

  return {
    name: 'jwt',
    decide(x, tools) {
      const [token, other] = tokensIn(x, spec.from);
      if (token === undefined) return missing;
      if (other !== undefined) return several;
      return token.length > LONGEST_TOKEN ? long : decide(x, token, tools, true);
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
