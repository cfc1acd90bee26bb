import { createHash } from 'node:crypto';
import type { RouteSpec } from '../../../../shared/route.ts';
import { joinFingerprints, joinHashes, type Key, keyOf } from '../../../ledger/hash.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import type { PolicyTools } from '../policy.ts';
import { challengeFor } from './challenge.ts';
import { linesOf, missingClaim, periodOf } from './claims.ts';
import type { TokenFault, Verifier } from './signature.ts';

type Spec = NonNullable<RouteSpec['jwt']>;
/** A token with a valid signature: when it applies (seconds since 1970), and the response if it lacks a claim. */
type VerifiedToken = {
  readonly from: number;
  readonly until: number;
  /** Its claims for the upstream. */
  readonly lines: string;
  readonly refusal: OwnAnswer | null;
};
/** A response: the token was not verified, as its client has sent too many. */
export type TokenResult = VerifiedToken | TokenFault | OwnAnswer;

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

/** Verifies the tokens of one directive, and remembers those with a valid signature. */
export class VerifiedTokens {
  private readonly spec: Spec;
  private readonly domain: string;
  private readonly remembered = new Map<string, VerifiedToken>();
  /** What has verified those that are remembered. */
  private verifier: Verifier | null = null;

  constructor(spec: Spec, domain: string) {
    this.spec = spec;
    this.domain = domain;
  }

  resultFor(token: string, verify: Verifier, client: Key, tools: PolicyTools): TokenResult {
    if (this.verifier !== verify) this.remembered.clear();
    this.verifier = verify;
    const id = createHash('sha256').update(token).digest('base64');
    const known = this.remembered.get(id);
    if (known) this.remembered.delete(id);
    const result = known ?? this.verify(token, verify, client, tools);
    if (!('lines' in result)) return result;
    this.remembered.set(id, result);
    if (this.remembered.size > MAX_REMEMBERED) for (const oldest of this.remembered.keys()) if (this.remembered.delete(oldest)) break;
    return result;
  }

  private verify(token: string, verify: Verifier, client: Key, { rates, now }: PolicyTools): TokenResult {
    const { spec } = this;
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
    const lines = linesOf(claims, spec);
    if (lines === null) return { fault: 'a claim cannot be copied to a header' };
    const claim = missingClaim(claims, spec);
    const refusal =
      claim === undefined ? null : challengeFor(this.domain, 403, 'insufficient_scope', `the token lacks a required claim: ${claim}`);
    return { ...period, lines, refusal };
  }
}
