import * as z from 'zod';
import { conditionSchema, portSchema } from './condition.ts';
import { MAX_BLOCKS, MAX_HOLD_SECS, MAX_PORTS } from './limits.ts';
import { fileServerIn } from './policy/file-server/effective.ts';
import { errorRootsIn } from './policy/handle-errors/error-roots.ts';
import { BLOCK_MEMBERS, SITE_MEMBERS } from './policy/policies.ts';
import { poolOptions } from './upstreams/pool-options.ts';
import { transportProblem } from './upstreams/pools.ts';
import { upstreamsSchema } from './upstreams/upstream-schema.ts';
import { parseUpstream } from './values/address.ts';
import { CATCH_ALL, parseDomain } from './values/host.ts';
import { accepted, type Parsed, refused } from './values/parsed.ts';
import { readBy } from './values/read-by.ts';

/**
 * The one schema of a route, used by POST, apply frames, the saved table and `adapt`. The six published members come first. Unknown
 * members are dropped, since the contract ignores them.
 */

const domain = readBy((text) => (text === CATCH_ALL ? accepted(CATCH_ALL) : parseDomain(text)));
const address = readBy(parseUpstream);

/** The options of a pool, for a site and for each of its path blocks. */
const pool = {
  upstreams: upstreamsSchema,
  ...poolOptions,
  hold_secs: z
    .int()
    .min(0)
    .max(MAX_HOLD_SECS)
    .nullable()
    .optional()
    .describe('Seconds that a request waits for a target when none is available; null and 0 disable waiting.'),
};

export const handleSchema = z
  .object({
    path: z.string().min(1).max(8_192).startsWith('/').nullable().describe('A path pattern; null matches every path.'),
    match: conditionSchema.optional().describe('Further conditions on the request.'),
    strip_prefix: z
      .boolean()
      .default(false)
      .describe('Whether the part of the pattern before `*` is stripped from the path before the request is forwarded.'),
    tls: z.boolean().default(false).describe('Whether the proxy connects to the targets over TLS.'),
    ...pool,
    ...BLOCK_MEMBERS,
  })
  .meta({ title: 'handle', about: 'Settings for some paths. Blocks are tried in order, and the first match handles the request.' });

/** Two of the published members belong to policies; they come before the other policies. */
const { rate_limit_rps, under_attack, ...policies } = SITE_MEMBERS;

export const routeSchema = z
  .object({
    domain: domain.describe(
      'A domain, or `*.example.com` for exactly one more label. In an apply stream also `*`, for every host without a route.',
    ),
    upstream: address
      .nullable()
      .describe(
        '`host:port`, or `unix/` followed by the absolute path of a socket; null if blocks or the route itself respond. With `upstreams` it is the first entry.',
      ),
    tls: z.boolean().describe('Whether the proxy connects to the targets over TLS.'),
    rate_limit_rps,
    under_attack,
    source: z.string().min(1).max(256).nullable().default(null).describe('The tag of the controller that owns the route.'),

    https: z
      .enum(['auto', 'off', 'internal', 'provided'])
      .default('auto')
      .describe(
        '`auto`: a certificate is ordered if one can be issued for the domain. `internal`: the internal authority issues it. `provided`: it is supplied, and none is ordered. `off`: no certificate.',
      ),
    https_redirect: z
      .boolean()
      .optional()
      .describe(
        'Whether requests without TLS are redirected to HTTPS where the domain has it: true if absent. With false they are served as they come.',
      ),
    ports: z
      .array(portSchema)
      .min(1)
      .max(2 * MAX_PORTS)
      .optional()
      .describe(
        'The ports that the route is served on, of those that the data plane listens on. On others its domain is unknown. All if absent.',
      ),
    wildcard: z
      .enum(['one', 'many'])
      .optional()
      .describe('What `*` in the domain stands for: exactly one label, or one and more. `many` is only accepted in an apply stream.'),
    /** For upstreams that treat `/ADMIN` as `/admin`. */
    path_case: z.enum(['sensitive', 'insensitive']).optional().describe('Whether path patterns ignore the case of the letters A to Z.'),
    ...pool,
    ...policies,
    handles: z.array(handleSchema).max(MAX_BLOCKS).default([]).describe('Blocks selected by path or condition.'),
    origin: z.string().max(1_024).optional().describe('Where the route was defined, for display: `Sluicefile:12`.'),
  })
  .meta({ title: 'route', about: 'A domain and how its requests are handled. The first six members are those returned by `GET /routes`.' });

export type RouteSpec = Readonly<z.output<typeof routeSchema>>;
/** A partial route, which a source fills in. */
export type RouteDraft = { -readonly [Member in keyof RouteSpec]?: RouteSpec[Member] };
export type HandleSpec = RouteSpec['handles'][number];
export type UpstreamSpec = RouteSpec['upstreams'][number];
export type HeaderSpec = RouteSpec['headers'][number];
export type RedirectSpec = RouteSpec['redirects'][number];
export type BasicAuthSpec = NonNullable<RouteSpec['basic_auth']>;
export type RespondSpec = NonNullable<RouteSpec['respond']>;
/** A route before parsing: every member with a default may be absent. */
export type RouteInput = z.input<typeof routeSchema>;

/** The six members of the contract, in its order. */
export type PublishedRoute = Pick<RouteSpec, 'domain' | 'upstream' | 'tls' | 'rate_limit_rps' | 'under_attack' | 'source'>;

export function published(route: RouteSpec): PublishedRoute {
  const { domain, upstream, tls, rate_limit_rps, under_attack, source } = route;
  return { domain, upstream, tls, rate_limit_rps, under_attack, source };
}

/** The rejected member, from which the API derives its error message. */
export type RouteProblem = { readonly member: string; readonly reason: string };

/**
 * Reads a route. `upstream` is always the first of `upstreams`. On failure `reason` is `MEMBER: why`; `readRoute` returns the two
 * separately.
 */
export function parseRoute(input: unknown): Parsed<RouteSpec> {
  const result = readRoute(input);
  return 'problem' in result ? refused(`${result.problem.member}: ${result.problem.reason}`) : accepted(result.route);
}

/** As `parseRoute`, with the rejected member separate from the reason. The first problem in schema order wins. */
export function readRoute(input: unknown): { readonly route: RouteSpec } | { readonly problem: RouteProblem } {
  const result = readAppliedRoute(input);
  if ('problem' in result) return result;
  if (result.route.wildcard === 'many') return { problem: { member: 'wildcard', reason: '"many" is only accepted in an apply stream' } };
  if (result.route.upstream !== null || answersItself(result.route)) return result;
  return { problem: { member: 'upstream', reason: 'may be null only if blocks or the site itself respond' } };
}

/** Whether a part of the route responds without needing a target of its site. */
export const answersItself = (route: RouteSpec): boolean => route.tls_passthrough != null || answersRequests(route);

/** The same, for HTTP requests. */
const answersRequests = (route: RouteSpec): boolean =>
  route.handles.length > 0 ||
  route.respond !== null ||
  route.redirects.length > 0 ||
  route.responds !== undefined ||
  route.file_server != null;

/** Whether HTTP requests never reach the route, because it only passes TLS connections through. */
const passesTlsOnly = (route: RouteSpec): boolean =>
  route.tls_passthrough != null && route.upstreams.length === 0 && !answersRequests(route);

/** As `readRoute`, for applied routes: a site that has lost its last target remains valid. */
export function readAppliedRoute(input: unknown): { readonly route: RouteSpec } | { readonly problem: RouteProblem } {
  const result = routeSchema.safeParse(input);
  if (!result.success) {
    const issue = result.error.issues[0];
    return { problem: { member: issue?.path.join('.') || 'route', reason: issue?.message ?? 'is not a route' } };
  }
  const route = result.data;
  if (route.wildcard !== undefined && !route.domain.startsWith('*.'))
    return { problem: { member: 'wildcard', reason: 'the domain does not begin with "*."' } };
  if (route.client_auth && route.https === 'off')
    return { problem: { member: 'client_auth', reason: 'client certificates need HTTPS, and https is off' } };
  if ([null, ...route.handles].some((handle) => fileServerIn(route, handle)?.root === null))
    return { problem: { member: 'file_server', reason: 'has no root' } };
  if ([null, ...route.handles].some((handle) => errorRootsIn(route, handle).includes(null)))
    return { problem: { member: 'handle_errors', reason: 'serves files, but has no root' } };
  const first = route.upstreams[0]?.address ?? null;
  if (route.upstream !== null && first !== null && route.upstream !== first)
    return { problem: { member: 'upstreams', reason: 'the first one must be the same address as upstream' } };
  const agreed = withPool(route);
  const problem = transportProblem(agreed);
  if (problem !== null) return { problem };
  // The targets have the certificates.
  return { route: passesTlsOnly(agreed) ? { ...agreed, https: 'off' } : agreed };
}

/** Sets `upstream` to the first of the pool, or the pool to `upstream` alone. */
function withPool(route: RouteSpec): RouteSpec {
  if (route.upstreams.length > 0) return { ...route, upstream: route.upstreams[0]?.address ?? null };
  if (route.upstream === null) return route;
  return { ...route, upstreams: [{ address: route.upstream, weight: 1, state: 'healthy' }] };
}
