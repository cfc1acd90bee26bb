import { USUAL_COOKIE } from '../../../shared/balancing/balancing.ts';
import type { RouteSpec } from '../../../shared/route.ts';
import { USUAL_SPLIT_COOKIE } from '../../../shared/share.ts';
import { COOKIE_NAME } from '../policy/under-attack/page.ts';
import { STICKY_VALUE } from '../upstream/balance/sticky-cookie.ts';

/** Names that no application chooses. Browsers send these cookies for a while after the site has stopped to give them. */
const RESERVED = [`${COOKIE_NAME}=[\\w-]{28}\\.\\d{1,15}`, `${USUAL_SPLIT_COOKIE}=\\d{1,6}`];

const fieldOf = (pairs: readonly string[]): RegExp => new RegExp(`^(?:${pairs.join('|')})(?:; ?(?:${pairs.join('|')})){0,9};?$`);
const USUAL = fieldOf(RESERVED);
const STICKY = fieldOf([...RESERVED, `${USUAL_COOKIE}=${STICKY_VALUE}`]);

/**
 * Matches a Cookie field that has only cookies of the proxy itself, in the form that it gives them: they tell the upstream nothing about a
 * person. A name that the site has chosen may be that of a cookie of its application.
 */
export const ownCookies = (keepsUsualSessions: boolean): RegExp => (keepsUsualSessions ? STICKY : USUAL);

/** Whether a site or one of its blocks keeps sessions with a cookie of the usual name. */
export const hasUsualSession = ({ handles, lb_policy }: RouteSpec): boolean =>
  isSticky(lb_policy) || handles.some((handle) => isSticky(handle.lb_policy));

const isSticky = (policy: RouteSpec['lb_policy']): boolean => policy?.policy === 'cookie' && (policy.name ?? USUAL_COOKIE) === USUAL_COOKIE;
