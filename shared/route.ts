import { z } from 'zod';
import { conditionSchema } from './condition.ts';
import { MAX_HOLD_SECS } from './limits.ts';
import { BLOCK_MEMBERS, SITE_MEMBERS } from './policy/policies.ts';
import { transportProblem } from './pools.ts';
import { transportSchema } from './transport-schema.ts';
import { parseUpstream } from './values/address.ts';
import { CATCH_ALL, parseDomain } from './values/host.ts';
import { accepted, type Parsed, refused } from './values/parsed.ts';

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

/**
 * `draining` finishes what it has and takes nothing new; `starting` and `unhealthy` are out of rotation.
 * So is `paused`, which answers nothing either: requests that wait there are sent elsewhere where they may be.
 */
export const TARGET_STATES = ['healthy', 'starting', 'unhealthy', 'draining', 'paused'] as const;

const upstream = z
  .object({
    address: address.describe(
      '`host:port`; an IPv6 address stands in brackets. Or `unix/` and the absolute path of a socket: `unix//run/app.sock`.',
    ),
    /**
     * Stable name of the target at its source (a container id …); runtime state follows it over changes.
     * An address that has one may belong to something else tomorrow.
     */
    id: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .describe('A name of the target that stays while its address may change or go to another one.'),
    weight: z.int().min(0).max(1_000).default(1).describe('Its share of the requests relative to the others; 0 gets none.'),
    state: z
      .enum(TARGET_STATES)
      .default('healthy')
      .describe(
        'Only `healthy` gets requests. `draining` finishes what it has, and gets more only where no other is left and none are held; the others wait for a better state.',
      ),
    probe: z
      .boolean()
      .optional()
      .describe(
        'Whether one that is `starting` comes into rotation by itself: once a connection to it stays open for 100 ms, or its health check is passed.',
      ),
  })
  .meta({ title: 'upstream', about: 'One target of a pool. Requests go to them in turn.' });

/** Asks each target of a route for a page of its own, again and again: only a target that answers 2xx or 3xx is in rotation. */
export const healthCheckSchema = z
  .object({
    path: z
      .string()
      .max(2_048)
      .regex(/^\/[\x21-\x7e]*$/, 'a path starts with / and has no space')
      .describe('Path and query that are asked for with GET; 2xx and 3xx are well.'),
    interval_secs: z.int().min(1).max(3_600).default(10).describe('Seconds from one question to the next.'),
    timeout_secs: z.int().min(1).max(60).default(5).describe('Seconds that an answer may take.'),
  })
  .meta({ title: 'health', about: 'A page that each target is asked for again and again.' });

/** The options of a pool, which a site and each of its path blocks can have. */
const pool = {
  upstreams: z.array(upstream).max(10_000).default([]).describe('The pool.'),
  /** A block that says nothing does as its site says. */
  transport: transportSchema
    .nullable()
    .optional()
    .describe('How the targets are spoken to; null is HTTP/1.1, over TLS with a certificate that the system trusts.'),
  hold_secs: z
    .int()
    .min(0)
    .max(MAX_HOLD_SECS)
    .nullable()
    .optional()
    .describe('Seconds that a request waits for a target when none can be reached; null and 0 are not at all.'),
};

export const handleSchema = z
  .object({
    path: z.string().min(1).max(8_192).startsWith('/').nullable().describe('A path pattern; null matches every path.'),
    match: conditionSchema.optional().describe('What else a request must be like.'),
    strip_prefix: z
      .boolean()
      .default(false)
      .describe('Whether what stands before `*` in the pattern is taken off the path before the upstream sees it.'),
    tls: z.boolean().default(false).describe('Whether the proxy speaks TLS to the targets.'),
    ...pool,
    ...BLOCK_MEMBERS,
  })
  .meta({ title: 'handle', about: 'What applies to some paths. Blocks are tried in order, and the first that matches answers.' });

/** One of them is published, at its place. */
const { rate_limit_rps, ...policies } = SITE_MEMBERS;

export const routeSchema = z
  .object({
    domain: domain.describe(
      'A domain, or `*.example.com` for exactly one label more; in an apply stream also `*`, every host without a route.',
    ),
    upstream: address
      .nullable()
      .describe(
        '`host:port`, or `unix/` and the absolute path of a socket; null where blocks or the route itself answer. With `upstreams` it is the first of them.',
      ),
    tls: z.boolean().describe('Whether the proxy speaks TLS to the targets.'),
    rate_limit_rps,
    under_attack: z.literal(false, 'not available yet').default(false).describe('Not available yet.'),
    source: z.string().min(1).max(256).nullable().default(null).describe('The tag of the controller that owns the route.'),

    https: z
      .enum(['auto', 'off', 'internal', 'provided'])
      .default('auto')
      .describe(
        '`auto`: a certificate is ordered where one can be had. `internal`: of our own authority. `provided`: one comes along, none is ordered. `off`: none.',
      ),
    /** For upstreams that take `/ADMIN` for `/admin`. */
    path_case: z
      .enum(['sensitive', 'insensitive'])
      .optional()
      .describe('Whether path patterns are compared without regard to the case of letters A to Z.'),
    ...pool,
    health: healthCheckSchema.nullable().optional().describe('Active health checks; null is none.'),
    ...policies,
    handles: z.array(handleSchema).max(1_000).default([]).describe('Blocks by path or condition.'),
    origin: z.string().max(1_024).optional().describe('Where the route was written, in words for people: `Sluicefile:12`.'),
  })
  .meta({ title: 'route', about: 'A domain and what answers for it. The first six are those that `GET /routes` answers.' });

export type RouteSpec = Readonly<z.output<typeof routeSchema>>;
/** Members of a route, as far as something is said about them: what a source writes them into. */
export type RouteDraft = { -readonly [Member in keyof RouteSpec]?: RouteSpec[Member] };
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
