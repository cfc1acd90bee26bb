import { CHALLENGE_FIELD } from '../../../../shared/name.ts';
import { DIFFICULTY } from '../../../../shared/policy/under-attack/bounds.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import { attackKeys, countForAttack, isAttacked } from '../../../ledger/attacks.ts';
import { clientNetwork } from '../../../ledger/client-network.ts';
import { fieldIn } from '../../codec/http1/kept-lines.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { compileCondition } from '../../match/condition.ts';
import { foldsPaths } from '../../match/pattern.ts';
import { answers, type Policy, type PolicyKind, type PolicyTools, passes } from '../policy.ts';
import { compileClaims } from './bots.ts';
import { CHALLENGE_PAGE, COOKIE_NAME } from './page.ts';

/** How many cookies of this name are tried: each may cost a signature. */
const MAX_COOKIES = 4;
const NO_COOKIES: readonly string[] = [];

/** For clients that can't show a page: they may try again later. */
const NOT_A_PAGE: OwnAnswer = {
  status: 503,
  fields: `Retry-After: 60\r\n${CHALLENGE_FIELD}: required\r\nCache-Control: no-store\r\n`,
  body: null,
  reason: 'under_attack: the request has no clearance and cannot show a page',
  sealed: true,
};

/** `under_attack`: browsers solve a challenge before they see the site. */
export const underAttack: PolicyKind = (route) => {
  const { under_attack: always, challenge } = route;
  return always || challenge?.auto_rps !== undefined ? [compile(route)] : [];
};

function compile(route: RouteSpec): Policy {
  const { domain, under_attack: always, challenge } = route;
  const { difficulty: bits = DIFFICULTY.usual, auto_rps: threshold, except = [] } = challenge ?? {};
  const exceptions = except.map((condition) => compileCondition(condition, foldsPaths(route)));
  const claimedBot = compileClaims(challenge?.bots);
  const keys = attackKeys(domain);
  const isUnderAttack = ({ rates, now }: PolicyTools): boolean => {
    if (always || threshold === undefined) return true;
    const time = now();
    countForAttack(rates, keys, threshold, time);
    return isAttacked(rates, keys, time);
  };
  const isExcepted = (x: Exchange): boolean => exceptions.some((matches) => matches(x.path, x));
  const isCleared = (x: Exchange, { clearances, now }: PolicyTools): boolean => {
    const cookies = cookiesIn(x.fields);
    if (cookies.length === 0) return false;
    const network = clientNetwork(x.client.address);
    const seconds = Math.floor(now() / 1_000);
    return cookies.some((cookie) => clearances.isValid(cookie, domain, network, seconds, bits));
  };
  const isBot = (x: Exchange, { bots, now }: PolicyTools): boolean => {
    const bot = claimedBot(fieldIn(x.fields, 'user-agent') ?? '');
    return bot !== null && bots.isVerified(bot, x.client.address, now());
  };
  return {
    name: 'under_attack',
    decide(x, tools) {
      if (!isUnderAttack(tools) || isCleared(x, tools) || isExcepted(x) || isBot(x, tools)) return null;
      return wantsPage(x) ? CHALLENGE_PAGE : NOT_A_PAGE;
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

/** The values of the cookie. A neighbour below the same domain can give browsers one as well, which may come first (RFC 6265 8.6). */
function cookiesIn(fields: string): readonly string[] {
  const cookies = fieldIn(fields, 'cookie');
  if (cookies === null) return NO_COOKIES;
  const values: string[] = [];
  for (const pair of cookies.split(';')) {
    const equals = pair.indexOf('=');
    if (pair.slice(0, equals).trim() === COOKIE_NAME && values.push(pair.slice(equals + 1).trim()) === MAX_COOKIES) break;
  }
  return values;
}
