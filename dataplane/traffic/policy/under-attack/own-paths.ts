import { CHALLENGE_SCRIPT_PATH, CHALLENGE_TOKEN_PATH } from '../../../../shared/name.ts';
import { CLEARANCE, DIFFICULTY } from '../../../../shared/policy/under-attack/bounds.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import { clientNetwork } from '../../../ledger/client-network.ts';
import { answer } from '../../exchange/answer.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import type { BeaconTools, OwnPaths } from '../../respond/beacon/beacon.ts';
import type { PolicyTools } from '../policy.ts';
import { CHALLENGE_SCRIPT } from './page.ts';

type Tools = Pick<PolicyTools, 'clearances' | 'now'>;

const TOKEN_FIELDS = 'Content-Type: application/json\r\nCache-Control: no-store\r\n';
const ONLY_READ: OwnAnswer = {
  status: 405,
  fields: 'Allow: GET, HEAD\r\n',
  body: null,
  reason: 'the challenge of under_attack is only read',
};

/** How long a client gets the same token (ms), and for how many clients a worker remembers it. */
const SAME_TOKEN_MS = 10_000;
const MAX_TOKENS = 16_384;

/** Adds the script and the tokens of the challenge to the paths that a site answers itself, if the site can be under attack. */
export function withChallenge(route: RouteSpec, others: OwnPaths): OwnPaths<BeaconTools & Tools> {
  if (!route.under_attack && route.challenge?.auto_rps === undefined) return others;
  const tokenFor = compileTokens(route);
  return {
    serve(x, tools) {
      if (x.path !== CHALLENGE_SCRIPT_PATH && x.path !== CHALLENGE_TOKEN_PATH) return others.serve(x, tools);
      if (x.method !== 'GET' && x.method !== 'HEAD') return answer(x, ONLY_READ);
      answer(x, x.path === CHALLENGE_SCRIPT_PATH ? CHALLENGE_SCRIPT : tokenFor(x, tools));
    },
    explain(path) {
      if (path === CHALLENGE_SCRIPT_PATH) return `200: ${CHALLENGE_SCRIPT.reason}`;
      return path === CHALLENGE_TOKEN_PATH ? '200: a challenge of under_attack' : others.explain(path);
    },
  };
}

/**
 * The challenge that the script of the page solves: `{token, bits, max_age}`. A client that requests one again soon gets the same, which
 * costs no signature.
 */
function compileTokens({ domain, challenge }: RouteSpec): (x: Exchange, tools: Tools) => OwnAnswer {
  const { difficulty: bits = DIFFICULTY.usual, clearance_secs: seconds = CLEARANCE.usual } = challenge ?? {};
  const known = new Map<string, OwnAnswer>();
  let until = 0;
  return ({ client: { address } }, { clearances, now }) => {
    const time = now();
    if (time >= until || time < until - SAME_TOKEN_MS || known.size >= MAX_TOKENS) {
      known.clear();
      until = time + SAME_TOKEN_MS;
    }
    const same = known.get(address);
    if (same !== undefined) return same;
    const token = clearances.token(domain, clientNetwork(address), Math.floor(time / 1_000) + seconds, bits);
    const body = JSON.stringify({ token, bits, max_age: seconds });
    const own: OwnAnswer = { status: 200, fields: TOKEN_FIELDS, body, reason: 'a challenge of under_attack' };
    known.set(address, own);
    return own;
  };
}
