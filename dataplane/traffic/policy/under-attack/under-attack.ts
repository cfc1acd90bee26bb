import { CHALLENGE_FIELD } from '../../../../shared/name.ts';
import { CLEARANCE, DIFFICULTY } from '../../../../shared/policy/under-attack/bounds.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import { attackKeys, countForAttack, isAttacked } from '../../../ledger/attacks.ts';
import { clientNetwork } from '../../../ledger/client-network.ts';
import { fieldIn } from '../../codec/http1/fields.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { compileCondition } from '../../match/condition.ts';
import { foldsPaths } from '../../match/pattern.ts';
import { answers, type Policy, type PolicyKind, type PolicyTools, passes } from '../policy.ts';
import { compileClaims } from './bots.ts';
import { COOKIE_NAME, challengePage, PAGE_FIELDS } from './page.ts';

/** For clients that can't show a page: they may try again later. */
const NOT_A_PAGE: OwnAnswer = {
  status: 503,
  fields: `Retry-After: 60\r\n${CHALLENGE_FIELD}: required\r\nCache-Control: no-store\r\n`,
  body: null,
  reason: 'under_attack: the request has no clearance and cannot show a page',
  sealed: true,
};

/** How long a client gets the same challenge (ms), and for how many clients a worker remembers it. */
const SAME_TOKEN_MS = 10_000;
const MOST_TOKENS = 16_384;

/** `under_attack`: browsers solve a challenge before they see the site. */
export const underAttack: PolicyKind = (route) => {
  const { under_attack: always, challenge } = route;
  return always || challenge?.auto_rps !== undefined ? [compile(route)] : [];
};

function compile(route: RouteSpec): Policy {
  const { domain, under_attack: always, challenge } = route;
  const {
    difficulty: bits = DIFFICULTY.usual,
    clearance_secs: seconds = CLEARANCE.usual,
    auto_rps: threshold,
    except = [],
  } = challenge ?? {};
  const exceptions = except.map((condition) => compileCondition(condition, foldsPaths(route)));
  const claimedBot = compileClaims(challenge?.bots);
  const page = challengePage(bits, seconds);
  const keys = attackKeys(domain);
  const isUnderAttack = ({ rates, now }: PolicyTools): boolean => {
    if (always || threshold === undefined) return true;
    const time = now();
    countForAttack(rates, keys, threshold, time);
    return isAttacked(rates, keys, time);
  };
  const isExcepted = (x: Exchange): boolean => exceptions.some((matches) => matches(x.path, x));
  const isCleared = (x: Exchange, { clearances, now }: PolicyTools): boolean => {
    const cookie = cookieIn(x.fields);
    return cookie !== null && clearances.isValid(cookie, domain, clientNetwork(x.client.address), Math.floor(now() / 1_000), bits);
  };
  const isBot = (x: Exchange, { bots, now }: PolicyTools): boolean => {
    const bot = claimedBot(fieldIn(x.fields, 'user-agent') ?? '');
    return bot !== null && bots.isVerified(bot, x.client.address, now());
  };
  const tokens = new Map<string, string>();
  let tokensUntil = 0;
  /** A client that asks again soon gets the same challenge, which costs no signature. */
  const tokenFor = (x: Exchange, { clearances, now }: PolicyTools): string => {
    const time = now();
    if (time >= tokensUntil || time < tokensUntil - SAME_TOKEN_MS || tokens.size >= MOST_TOKENS) {
      tokens.clear();
      tokensUntil = time + SAME_TOKEN_MS;
    }
    const { address } = x.client;
    const known = tokens.get(address);
    if (known !== undefined) return known;
    const token = clearances.token(domain, clientNetwork(address), Math.floor(time / 1_000) + seconds, bits);
    tokens.set(address, token);
    return token;
  };
  return {
    name: 'under_attack',
    decide(x, tools) {
      if (!isUnderAttack(tools) || isCleared(x, tools) || isExcepted(x) || isBot(x, tools)) return null;
      if (!wantsPage(x)) return NOT_A_PAGE;
      return {
        status: 503,
        fields: PAGE_FIELDS,
        body: page(tokenFor(x, tools)),
        reason: 'under_attack: the browser has to solve a challenge',
        sealed: true,
      };
    },
    explain(x, { rates, now }) {
      if (!always && !isAttacked(rates, keys, now())) return passes(`begins at ${threshold} requests per second`);
      return isExcepted(x)
        ? passes('the request is an exception')
        : answers(`503: a challenge of ${bits} bits, unless the client has solved one`);
    },
  };
}

/** A browser that opens a page, as opposed to a script, an app or an API client. */
const wantsPage = (x: Exchange): boolean =>
  (x.method === 'GET' || x.method === 'HEAD') && x.upgrade === null && (fieldIn(x.fields, 'accept') ?? '').includes('text/html');

/** The value of the cookie; null if there is none. */
function cookieIn(fields: string): string | null {
  const cookies = fieldIn(fields, 'cookie');
  if (cookies === null) return null;
  for (const pair of cookies.split(';')) {
    const equals = pair.indexOf('=');
    if (pair.slice(0, equals).trim() === COOKIE_NAME) return pair.slice(equals + 1).trim();
  }
  return null;
}
