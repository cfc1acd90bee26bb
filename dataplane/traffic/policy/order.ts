import type { Condition } from '../../../shared/condition.ts';
import type { HandleSpec, RouteSpec } from '../../../shared/route.ts';
import type { OwnAnswer } from '../exchange/answer.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { HttpsSettings } from '../protocol.ts';
import { basicAuth } from './basic-auth/basic-auth.ts';
import type { Passwords } from './basic-auth/passwords.ts';
import { clientCertificate } from './client-certificate/client-certificate.ts';
import { httpsRedirect } from './https-redirect/https-redirect.ts';
import { rateLimit } from './rate-limit/rate-limit.ts';
import { redirect } from './redirect/redirect.ts';
import { respond } from './respond/respond.ts';

/** What a policy needs of its worker. */
export type PolicyTools = {
  /** Milliseconds since 1970. */
  now(): number;
  admit(place: number, tag: number, limit: number, now: number): boolean;
  wouldAdmit(place: number, tag: number, limit: number, now: number): boolean;
  readonly passwords: Passwords;
  /** Replaced as a whole when the settings or the certificates change. */
  readonly https: HttpsSettings;
  /** Whether a certificate that somebody brought is shown for a domain, wildcards as they are written. */
  isBrought(domain: string): boolean;
};

/** A policy that cannot decide yet: it resumes the exchange with its decision, in a later turn. */
export const LATER = Symbol('later');

/** One rule of one block, compiled. Without side effects but its own counter. */
export interface Policy {
  readonly name: string;
  /** The answer that ends the request here, null: ask the next one, or LATER. */
  decide(x: Exchange, tools: PolicyTools): OwnAnswer | null | typeof LATER;
  /** The verdict in words for a dry run, null where the policy is not in force; counts nothing. */
  explain(x: Exchange, tools: PolicyTools): string | null;
}

/** Compiles the policies of one kind for a block; `handle` null is the site itself. The site's come before the block's own. */
export type PolicyKind = (route: RouteSpec, handle: HandleSpec | null, index: number) => readonly Policy[];

/**
 * Something that a site, or one of its blocks, does to some requests and not to others, so that it must not depend on who
 * reads the path: those that match both. Where neither is said it acts on all of its block.
 */
export type Guard = { readonly from?: string; readonly match?: Condition | undefined };

/** The guards that a policy puts up in a site (`handle` null) or in a block of it. */
type Guards = (part: RouteSpec | HandleSpec, handle: HandleSpec | null) => readonly Guard[];

/** For a policy that treats all paths of a host alike. */
const NONE: Guards = () => [];

/** The only list of positions, and of who guards what. */
const ORDER: readonly { readonly kind: PolicyKind; readonly because: string; readonly guards: Guards }[] = [
  {
    kind: httpsRedirect,
    because: 'whoever comes back over HTTPS is counted and asked there, once, and no password crosses in the clear',
    guards: NONE,
  },
  {
    kind: clientCertificate,
    because: 'who could show no certificate is no visitor of the site; only the way to where it is asked for is told',
    guards: NONE,
  },
  { kind: rateLimit, because: 'a client over its limit costs nothing further, not even a redirect', guards: rateLimitGuards },
  {
    kind: redirect,
    because: 'a moved page is moved for everybody, before anyone is asked who they are',
    guards: ({ redirects }) => redirects,
  },
  {
    kind: basicAuth,
    because: 'who may not come in learns nothing of what is inside, not even a fixed answer',
    guards: ({ basic_auth }) => (basic_auth === null ? [] : [{}]),
  },
  {
    kind: respond,
    because: 'a fixed answer stands where the upstream would, so everything else has been asked',
    guards: respondGuards,
  },
];

/** The limit of a site counts whatever the path is. */
function rateLimitGuards({ rate_limit_rps, rate_limits = [] }: RouteSpec | HandleSpec, handle: HandleSpec | null): readonly Guard[] {
  return handle === null || rate_limit_rps === null ? rate_limits : [{}, ...rate_limits];
}

/** The answer of a site stands where no block does, and so does that of a block for everything: what is left is no rule. */
function respondGuards({ respond, responds = [] }: RouteSpec | HandleSpec, handle: HandleSpec | null): readonly Guard[] {
  const takesSome = handle !== null && ((handle.path !== null && handle.path !== '/*') || handle.match !== undefined);
  return respond !== null && takesSome ? [{}, ...responds] : responds;
}

export function guardsOf(part: RouteSpec | HandleSpec, handle: HandleSpec | null): readonly Guard[] {
  return ORDER.flatMap(({ guards }) => guards(part, handle));
}

export function policiesOf(route: RouteSpec, handle: HandleSpec | null, index: number): readonly Policy[] {
  return ORDER.flatMap(({ kind }) => kind(route, handle, index));
}
