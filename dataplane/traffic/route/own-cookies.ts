import { USUAL_COOKIE } from '../../../shared/balancing/balancing.ts';
import type { RouteSpec } from '../../../shared/route.ts';
import { USUAL_SPLIT_COOKIE } from '../../../shared/share.ts';
import { COOKIE_NAME } from '../policy/under-attack/page.ts';

/**
 * Matches a Cookie field that has nothing but cookies of the proxy itself, in the form that it gives them: they tell the upstream nothing
 * about a person. null if the site gives no cookies. A name that the site has chosen may be that of a cookie of its application.
 */
export function compileOwnCookies(route: RouteSpec): RegExp | null {
  const { handles, under_attack, challenge, lb_policy } = route;
  const pairs: string[] = [];
  if (under_attack || challenge?.auto_rps !== undefined) pairs.push(`${COOKIE_NAME}=[\\w-]{28}\\.\\d{1,15}`);
  const isUsualSplit = handles.some(
    ({ match }) => match?.share?.by === 'cookie' && (match.share.name ?? USUAL_SPLIT_COOKIE) === USUAL_SPLIT_COOKIE,
  );
  if (isUsualSplit) pairs.push(`${USUAL_SPLIT_COOKIE}=\\d{1,6}`);
  const isSticky = [lb_policy, ...handles.map((handle) => handle.lb_policy)].some(
    (policy) => policy?.policy === 'cookie' && (policy.name ?? USUAL_COOKIE) === USUAL_COOKIE,
  );
  if (isSticky) pairs.push(`${USUAL_COOKIE}=[\\w-]{24}`);
  const any = `(?:${pairs.join('|')})`;
  return pairs.length === 0 ? null : new RegExp(`^${any}(?:; ?${any}){0,9};?$`);
}
