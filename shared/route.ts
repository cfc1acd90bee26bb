import { z } from 'zod';
import { MAX_AUTHORITIES_LENGTH, readClientAuthorities } from './certificates/client-authorities.ts';
import { conditionSchema } from './condition.ts';
import { MAX_HOLD_SECS } from './longest-hold.ts';
import { transportProblem } from './pools.ts';
import { DEFAULT_REALM } from './realm.ts';
import { faultOfTarget } from './redirect-target.ts';
import { HEADER_NAME, HEADER_VALUE, LONGEST_HEADER_NAME, LONGEST_HEADER_VALUE, NOT_FRAMING } from './response-header.ts';
import { transportSchema } from './transport-schema.ts';
import { parseUpstream } from './values/address.ts';
import { parseBcryptHash } from './values/bcrypt-hash.ts';
import { CATCH_ALL, parseDomain } from './values/host.ts';
import { accepted, type Parsed, refused } from './values/parsed.ts';
import { MAX_RATE_PER_SECOND } from './values/rate.ts';

/**
 * The one schema of a route: what POST takes, what an apply frame carries, what is saved, what `adapt`
 * prints. The six published members come first. Unknown members are dropped (the contract ignores them).
 */

const domain = z.string().transform((text, issues) => {
  if (text === CATCH_ALL) return CATCH_ALL;
  const parsed = parseDomain(text);
  if (parsed.ok) return parsed.value;
  issues.addIssue({ code: 'custom', message: parsed.reason });
  return z.NEVER;
});

const address = z.string().transform((text, issues) => {
  const parsed = parseUpstream(text);
  if (parsed.ok) return parsed.value;
  issues.addIssue({ code: 'custom', message: parsed.reason });
  return z.NEVER;
});

/** No control characters, so that a value can never end its line. */
const fieldValue = z.string().max(LONGEST_HEADER_VALUE).regex(HEADER_VALUE, 'a header value has no control characters');
const fieldName = z
  .string()
  .max(LONGEST_HEADER_NAME)
  .regex(HEADER_NAME, 'a header name is letters, digits and hyphens')
  .regex(NOT_FRAMING, 'the proxy itself sets this header');

/**
 * `draining` finishes what it has and takes nothing new; `starting` and `unhealthy` are out of rotation.
 * So is `paused`, which answers nothing either: requests that wait there are sent elsewhere where they may be.
 */
export const TARGET_STATES = ['healthy', 'starting', 'unhealthy', 'draining', 'paused'] as const;

const upstream = z.object({
  address,
  /**
   * Stable name of the target at its source (a container id …); runtime state follows it over changes.
   * An address that has one may belong to something else tomorrow.
   */
  id: z.string().min(1).max(256).optional(),
  /** Share of the traffic relative to the pool's other targets. */
  weight: z.int().min(0).max(1_000).default(1),
  state: z.enum(TARGET_STATES).default('healthy'),
  /** While it is `starting`: whether it comes into rotation by itself, once it accepts connections. */
  probe: z.boolean().optional(),
});

/** Asks each target of a route for a page of its own, again and again: only a target that answers 2xx or 3xx is in rotation. */
const healthCheck = z.object({
  /** Path and query. */
  path: z
    .string()
    .max(2_048)
    .regex(/^\/[\x21-\x7e]*$/, 'a path starts with / and has no space'),
  /** Seconds from one question to the next, and how long an answer may take. */
  interval_secs: z.int().min(1).max(3_600).default(10),
  timeout_secs: z.int().min(1).max(60).default(5),
});

/** Sets a response header, or removes it where `value` is null. The last one of a name wins. */
const header = z.object({ name: fieldName, value: fieldValue.nullable(), match: conditionSchema.optional() });

/** `from` is a path pattern, `to` a location that may name placeholders in braces. */
const redirect = z.object({
  from: z.string().min(1).max(8_192),
  to: fieldValue.min(1).superRefine((target, issues) => {
    const fault = faultOfTarget(target);
    if (fault !== undefined) issues.addIssue({ code: 'custom', message: fault });
  }),
  status: z.union([z.literal(301), z.literal(302), z.literal(303), z.literal(307), z.literal(308)]),
  match: conditionSchema.optional(),
});

/** A name before the first colon of the credentials, so it has none itself (RFC 7617 2). */
const userName = z
  .string()
  .min(1)
  .max(256)
  .regex(/^[^\p{Cc}:]+$/u, 'a user name has no colon and no control characters');

const passwordHash = z.string().transform((text, issues) => {
  const hash = parseBcryptHash(text);
  if (hash.ok) return hash.value;
  issues.addIssue({ code: 'custom', message: hash.reason });
  return z.NEVER;
});

/** Who may come in, and under which name the browser asks for it. */
const basicAuth = z.object({
  realm: z
    .string()
    .max(256)
    .regex(/^[\x20-\x7e\x80-\xff]*$/, 'a realm has no control characters')
    .default(DEFAULT_REALM),
  users: z
    .array(z.object({ name: userName, hash: passwordHash }))
    .min(1, 'at least one user')
    .max(1_000)
    .refine((users) => new Set(users.map(({ name }) => name)).size === users.length, 'each user stands once'),
});

/** Visitors are let in only with a certificate that one of these authorities vouches for. */
const clientAuth = z.object({
  /** PEM: roots, and what clients may leave out between those and their own. */
  ca: z
    .string()
    .max(MAX_AUTHORITIES_LENGTH)
    .transform((text, issues) => {
      const parsed = readClientAuthorities(text);
      if (parsed.ok) return parsed.value.text;
      issues.addIssue({ code: 'custom', message: parsed.reason });
      return z.NEVER;
    }),
});

const respond = z.object({ status: z.int().min(200).max(599), body: z.string().max(65_536).default('') });

/** What a site and each of its path blocks can say. Absent lists are empty, absent limits are none. */
const directives = {
  rate_limit_rps: z.int().min(1).max(MAX_RATE_PER_SECOND).nullable().default(null),
  /** Limits of their own for some requests, beside that of all. */
  rate_limits: z
    .array(z.object({ rps: z.int().min(1).max(MAX_RATE_PER_SECOND), match: conditionSchema }))
    .max(100)
    .optional(),
  upstreams: z.array(upstream).max(10_000).default([]),
  /** How the targets are spoken to; null is HTTP/1.1. A block that says nothing does as its site says. */
  transport: transportSchema.nullable().optional(),
  /** Seconds that a request waits for a target when none can be reached; null and 0 are not at all. */
  hold_secs: z.int().min(0).max(MAX_HOLD_SECS).nullable().optional(),
  headers: z.array(header).max(1_000).default([]),
  redirects: z.array(redirect).max(1_000).default([]),
  basic_auth: basicAuth.nullable().default(null),
  respond: respond.nullable().default(null),
  /** Asked in order, before `respond`. */
  responds: z
    .array(respond.extend({ match: conditionSchema }))
    .max(100)
    .optional(),
};

/** A path-scoped block. `path` null matches everything; `strip_prefix` is what handle_path takes off. */
export const handleSchema = z.object({
  path: z.string().min(1).max(8_192).startsWith('/').nullable(),
  /** What else a request must be like. */
  match: conditionSchema.optional(),
  strip_prefix: z.boolean().default(false),
  tls: z.boolean().default(false),
  ...directives,
});

export const routeSchema = z.object({
  domain,
  upstream: address.nullable(),
  tls: z.boolean(),
  rate_limit_rps: directives.rate_limit_rps,
  rate_limits: directives.rate_limits,
  under_attack: z.literal(false, 'not available yet').default(false),
  source: z.string().min(1).max(256).nullable().default(null),

  /** `provided`: with a certificate that comes along; none is ordered. */
  https: z.enum(['auto', 'off', 'internal', 'provided']).default('auto'),
  client_auth: clientAuth.nullable().optional(),
  /** `insensitive`: every path pattern of the site, for upstreams that take `/ADMIN` for `/admin`. */
  path_case: z.enum(['sensitive', 'insensitive']).optional(),
  upstreams: directives.upstreams,
  transport: directives.transport,
  hold_secs: directives.hold_secs,
  health: healthCheck.nullable().optional(),
  headers: directives.headers,
  redirects: directives.redirects,
  basic_auth: directives.basic_auth,
  respond: directives.respond,
  responds: directives.responds,
  handles: z.array(handleSchema).max(1_000).default([]),
  /** Where the route came from, in words for people: `Sluicefile:12`, `container shop-web-1 (3f2a9c)`. */
  origin: z.string().max(1_024).optional(),
});

export type RouteSpec = Readonly<z.output<typeof routeSchema>>;
export type HandleSpec = RouteSpec['handles'][number];
export type UpstreamSpec = RouteSpec['upstreams'][number];
export type HealthCheckSpec = NonNullable<RouteSpec['health']>;
export type HeaderSpec = RouteSpec['headers'][number];
export type RedirectSpec = RouteSpec['redirects'][number];
export type BasicAuthSpec = NonNullable<RouteSpec['basic_auth']>;
export type ClientAuthSpec = NonNullable<RouteSpec['client_auth']>;
export type RespondSpec = NonNullable<RouteSpec['respond']>;
export type ConditionalRateSpec = NonNullable<RouteSpec['rate_limits']>[number];
export type ConditionalRespondSpec = NonNullable<RouteSpec['responds']>[number];
/** A route as a person or a source writes it: everything that has a default may be left out. */
export type RouteInput = z.input<typeof routeSchema>;

/** The six members that the contract publishes, in its order. */
export type PublishedRoute = Pick<RouteSpec, 'domain' | 'upstream' | 'tls' | 'rate_limit_rps' | 'under_attack' | 'source'>;

export function published(route: RouteSpec): PublishedRoute {
  const { domain, upstream, tls, rate_limit_rps, under_attack, source } = route;
  return { domain, upstream, tls, rate_limit_rps, under_attack, source };
}

/** Which member was refused; the API words its error by it. */
export type RouteProblem = { readonly member: string; readonly reason: string };

/**
 * Reads a route. `upstream` and `upstreams` are made to agree: `upstream` is the first of the pool.
 * On failure `reason` is `MEMBER: why`; `routeProblem` gives the two halves apart.
 */
export function parseRoute(input: unknown): Parsed<RouteSpec> {
  const result = readRoute(input);
  return 'problem' in result ? refused(`${result.problem.member}: ${result.problem.reason}`) : accepted(result.route);
}

/** As `parseRoute`, with the refused member apart from the reason. The first problem in schema order wins. */
export function readRoute(input: unknown): { readonly route: RouteSpec } | { readonly problem: RouteProblem } {
  const result = readAppliedRoute(input);
  if ('problem' in result || result.route.upstream !== null || answersItself(result.route)) return result;
  return { problem: { member: 'upstream', reason: 'may be null only where blocks or the site itself answer' } };
}

/** Whether something of the route answers without a target of its own. */
const answersItself = (route: RouteSpec): boolean =>
  route.handles.length > 0 || route.respond !== null || route.redirects.length > 0 || route.responds !== undefined;

/** As `readRoute`, for what a controller applies: a site whose last target went is known all the same, without any. */
export function readAppliedRoute(input: unknown): { readonly route: RouteSpec } | { readonly problem: RouteProblem } {
  const result = routeSchema.safeParse(input);
  if (!result.success) {
    const issue = result.error.issues[0];
    return { problem: { member: issue?.path.join('.') || 'route', reason: issue?.message ?? 'is not a route' } };
  }
  const route = result.data;
  if (route.client_auth && route.https === 'off')
    return { problem: { member: 'client_auth', reason: 'visitors show certificates over HTTPS only, and https is off' } };
  const first = route.upstreams[0]?.address ?? null;
  if (route.upstream !== null && first !== null && route.upstream !== first)
    return { problem: { member: 'upstreams', reason: 'the first one must be the same address as upstream' } };
  const agreed = withPool(route);
  const problem = transportProblem(agreed);
  return problem === null ? { route: agreed } : { problem };
}

/** `upstream` as the first of the pool, and a pool of `upstream` alone where there is no other. */
function withPool(route: RouteSpec): RouteSpec {
  if (route.upstreams.length > 0) return { ...route, upstream: route.upstreams[0]?.address ?? null };
  if (route.upstream === null) return route;
  return { ...route, upstreams: [{ address: route.upstream, weight: 1, state: 'healthy' }] };
}
