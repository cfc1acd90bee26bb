import type { HandleSpec, RouteSpec } from '../../../shared/route.ts';
import { basicAuth } from './basic-auth/basic-auth.ts';
import { clientCertificate } from './client-certificate/client-certificate.ts';
import { cors } from './cors/cors.ts';
import { forwardAuth } from './forward-auth/forward-auth.ts';
import { header } from './header/header.ts';
import { httpsRedirect } from './https-redirect/https-redirect.ts';
import { ipFilter } from './ip-filter/ip-filter.ts';
import { jwt } from './jwt/jwt.ts';
import { maintenance } from './maintenance/maintenance.ts';
import { method } from './method/method.ts';
import { mirror } from './mirror/mirror.ts';
import { type Guard, type Guards, NO_GUARDS, type PolicyKind } from './policy.ts';
import { rateLimit } from './rate-limit/rate-limit.ts';
import { redirect } from './redirect/redirect.ts';
import { requestBody } from './request-body/request-body.ts';
import { requestHeader } from './request-header/request-header.ts';
import { respond } from './respond/respond.ts';
import { rewrite } from './rewrite/rewrite.ts';
import { underAttack } from './under-attack/under-attack.ts';
import { uri } from './uri/uri.ts';

/** The only list of policies: it defines their order and what they guard. */
const ORDER: readonly { readonly kind: PolicyKind; readonly because: string; readonly guards: Guards }[] = [
  {
    kind: httpsRedirect,
    because: 'clients that return over HTTPS are counted and authenticated there, once, so no password is sent in the clear',
    guards: NO_GUARDS,
  },
  {
    kind: clientCertificate,
    because: 'clients without a certificate are rejected before anything but the redirect to HTTPS, where they are asked for one',
    guards: NO_GUARDS,
  },
  {
    kind: ipFilter,
    because: 'a rejected address costs nothing further and learns nothing about the site',
    guards: ({ ip_filter }) => (ip_filter ? [{}] : []),
  },
  {
    kind: cors,
    because: 'browsers ask ahead without credentials, and pages must be able to read every later rejection',
    guards: ({ cors: spec }, handle) => (spec && handle !== null ? [{}] : []),
  },
  {
    kind: underAttack,
    because: 'a client without a clearance costs a signature, and neither counts for rate limits nor reaches anything behind them',
    guards: ({ ...part }) => ('challenge' in part && part.challenge?.except ? part.challenge.except.map((match) => ({ match })) : []),
  },
  {
    kind: maintenance,
    because: 'a site under maintenance counts no requests and asks for no passwords',
    guards: maintenanceGuards,
  },
  { kind: rateLimit, because: 'a client over its limit costs nothing further, not even a redirect', guards: rateLimitGuards },
  {
    kind: requestBody,
    because: 'a body that is too large is refused before anything else reads it, and counts for the rate limit',
    guards: ({ request_body }, handle) => (request_body && handle !== null ? [{}] : []),
  },
  {
    kind: redirect,
    because: 'a moved page has moved for everyone, so redirects come before authentication',
    guards: ({ redirects }) => redirects,
  },
  {
    kind: basicAuth,
    because: 'clients that fail to authenticate learn nothing about the site, not even a fixed response',
    guards: ({ basic_auth }) => (basic_auth === null ? [] : [{}]),
  },
  {
    kind: jwt,
    because: 'a token costs no round trip, so it is verified before an authentication server is asked',
    guards: ({ jwt: spec }) => (spec ? [{}] : []),
  },
  {
    kind: forwardAuth,
    because: 'an authentication server is asked last: it costs a round trip, and passwords of the proxy itself cost it none',
    guards: ({ forward_auth }) => (forward_auth ? [{}] : []),
  },
  { kind: method, because: 'the upstream gets another method only once the request is allowed', guards: NO_GUARDS },
  {
    kind: rewrite,
    because: 'every policy before it judges the path that the client sent, which a rewritten one must not evade',
    guards: NO_GUARDS,
  },
  { kind: uri, because: 'its changes apply to what rewrite has made of the path', guards: NO_GUARDS },
  {
    kind: requestHeader,
    because: 'fields for the upstream may name the user, who is known after authentication',
    guards: requestHeaderGuards,
  },
  {
    kind: header,
    because: 'a request whose values would be unsafe in the response is refused before an upstream sees it',
    guards: NO_GUARDS,
  },
  { kind: respond, because: 'a fixed response replaces the upstream, so every other policy comes first', guards: respondGuards },
  { kind: mirror, because: 'copies are made only of requests that nothing has rejected, answered or will still change', guards: NO_GUARDS },
];

/**
 * While it is on, it keeps out what must not happen now, such as changes of data, and conditions and blocks let the rest through. A site's
 * is no guard if it applies to all of its requests.
 */
function maintenanceGuards(part: RouteSpec | HandleSpec, handle: HandleSpec | null): readonly Guard[] {
  const { maintenance: spec } = part;
  if (spec?.on !== true) return [];
  if (handle !== null) return [{ match: spec.match }];
  const hasExempt = 'handles' in part && part.handles.some(({ maintenance: own }) => own != null && (!own.on || own.match !== undefined));
  return [...(spec.match === undefined ? [] : [{ match: spec.match }]), ...(hasExempt ? [{}] : [])];
}

/** A site's limit without a condition counts requests for every path. */
function rateLimitGuards({ rate_limit_rps, rate_limits = [] }: RouteSpec | HandleSpec, handle: HandleSpec | null): readonly Guard[] {
  if (handle === null) return rate_limits.filter(({ match }) => match !== undefined);
  return rate_limit_rps === null ? rate_limits : [{}, ...rate_limits];
}

/** A field may grant access at the upstream, so which requests get it must not depend on how a path is read. */
function requestHeaderGuards(part: RouteSpec | HandleSpec, handle: HandleSpec | null): readonly Guard[] {
  const { request_headers: changes = [] } = part;
  if (handle !== null) return changes;
  const conditional = changes.filter(({ match }) => match !== undefined);
  const isOfUpstream = changes.some(({ upstream_only }) => upstream_only);
  return isOfUpstream && 'handles' in part ? [...conditional, ...part.handles.filter(hasUpstreams).map(selectedBy)] : conditional;
}

const hasUpstreams = ({ upstreams }: HandleSpec): boolean => upstreams.length > 0;
const selectedBy = ({ path, match }: HandleSpec): Guard => ({ ...(path !== null && { from: path }), match });

/** A site's response applies if no block matches, and a block's to all of its requests, so neither is a guard. */
function respondGuards({ respond, responds = [] }: RouteSpec | HandleSpec, handle: HandleSpec | null): readonly Guard[] {
  const isConditional = handle !== null && ((handle.path !== null && handle.path !== '/*') || handle.match !== undefined);
  return respond !== null && isConditional ? [{}, ...responds] : responds;
}

export function guardsOf(part: RouteSpec | HandleSpec, handle: HandleSpec | null): readonly Guard[] {
  return ORDER.flatMap(({ guards }) => guards(part, handle));
}

/** In the order in which they decide. */
export const POLICIES: readonly PolicyKind[] = ORDER.map(({ kind }) => kind);
