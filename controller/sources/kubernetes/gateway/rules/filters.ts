import { escapedBraces } from '../../../../../shared/placeholders/template.ts';
import type { RouteInput } from '../../../../../shared/route.ts';
import { withoutEndSlashes } from '../../../../../shared/values/path.ts';
import type { CorsFilter, HeaderModifier, PathMatcher, PathModifier, RedirectFilter, RouteFilter } from '../../objects/http-route.ts';

type Handle = NonNullable<RouteInput['handles']>[number];
type FieldChange = NonNullable<Handle['headers']>[number];
type Redirect = NonNullable<Handle['redirects']>[number];
/** The members of a block that filters set. */
export type FilterMembers = Partial<Pick<Handle, 'request_headers' | 'headers' | 'redirects' | 'rewrites' | 'cors'>>;

/** Where a request arrived, as far as redirects depend on it. */
export type Arrival = { readonly scheme: 'http' | 'https'; readonly port: number };

/** Translates a filter that is not about backends. @returns what is wrong if it is not supported. */
export function readFilter(filter: RouteFilter, path: PathMatcher, arrival: Arrival): FilterMembers | string {
  const { requestHeaderModifier, responseHeaderModifier, requestRedirect, urlRewrite, cors } = filter;
  if (requestHeaderModifier) return { request_headers: changesOf(requestHeaderModifier) };
  if (responseHeaderModifier) return { headers: changesOf(responseHeaderModifier) };
  if (requestRedirect) return redirectOf(requestRedirect, path, arrival);
  if (cors) return { cors: corsOf(cors) };
  if (!urlRewrite) return `the filter ${filter.type} is not supported`;
  const { hostname } = urlRewrite;
  const rewrites = urlRewrite.path ? rewritesOf(urlRewrite.path, path) : [];
  if (typeof rewrites === 'string') return rewrites;
  return {
    ...(hostname !== undefined && { request_headers: [{ name: 'Host', value: hostname }] }),
    ...(rewrites.length > 0 && { rewrites }),
  };
}

/** Combines two: the lists of the second follow those of the first. */
export function joinMembers(first: FilterMembers, second: FilterMembers): FilterMembers {
  const lists = ['request_headers', 'headers', 'redirects', 'rewrites'] as const;
  const joined: FilterMembers = { ...first, ...second };
  for (const name of lists) if (first[name] && second[name]) Object.assign(joined, { [name]: [...first[name], ...second[name]] });
  return joined;
}

/** Values are plain text, in which braces have no special meaning. */
const changesOf = ({ set = [], add = [], remove = [] }: HeaderModifier): FieldChange[] => [
  ...remove.map((name): FieldChange => ({ name, value: null })),
  ...set.map(({ name, value }): FieldChange => ({ name, value: escapedBraces(value) })),
  ...add.map(({ name, value }): FieldChange => ({ name, value: escapedBraces(value), op: 'add' })),
];

const USUAL_PORTS = { http: 80, https: 443 } as const;

/** The port is that of the filter, else the usual one of its scheme, else that of the listener. */
function redirectOf({ scheme, hostname, port, path: modifier, statusCode = 302 }: RedirectFilter, path: PathMatcher, arrival: Arrival) {
  const to = scheme === 'http' || scheme === 'https' ? scheme : arrival.scheme;
  const number = port ?? (scheme === undefined ? arrival.port : USUAL_PORTS[to]);
  const origin = `${to}://${hostname ?? '{host}'}${number === USUAL_PORTS[to] ? '' : `:${number}`}`;
  const status = statusCode as Redirect['status'];
  if (modifier === undefined) return { redirects: [{ from: '/*', to: `${origin}{uri}`, status }] };
  const paths = pathsOf(modifier, path);
  if (typeof paths === 'string') return paths;
  return { redirects: paths.map(({ from, to: target }): Redirect => ({ from, to: `${origin}${target}{?query}`, status })) };
}

function rewritesOf(modifier: PathModifier, path: PathMatcher): { from: string; to: string }[] | string {
  return pathsOf(modifier, path);
}

/** How paths are rewritten, as patterns. A prefix is replaced by whole segments. */
function pathsOf(
  { type, replaceFullPath, replacePrefixMatch = '' }: PathModifier,
  { type: kind, value }: PathMatcher,
): { from: string; to: string }[] | string {
  if (type === 'ReplaceFullPath') return [{ from: '/*', to: rooted(escapedBraces(replaceFullPath ?? '/')) }];
  if (kind !== 'PathPrefix') return 'ReplacePrefixMatch needs a match of the type PathPrefix';
  if (value.includes('*')) return `ReplacePrefixMatch can't be used with the path ${value}, which contains *`;
  const prefix = withoutEndSlashes(value);
  const to = withoutEndSlashes(escapedBraces(replacePrefixMatch));
  const rest = { from: `${prefix}/*`, to: `${to}/{remainder}` };
  return prefix === '' ? [rest] : [{ from: prefix, to: rooted(to) }, rest];
}

const rooted = (path: string): string => (path.startsWith('/') ? path : `/${path}`);

function corsOf(filter: CorsFilter): NonNullable<Handle['cors']> {
  const { allowOrigins = [], allowMethods = [], allowHeaders = [], exposeHeaders = [], allowCredentials = false, maxAge = 5 } = filter;
  // With credentials, the response has to name the origin, even if all are allowed.
  const anyone = allowCredentials ? ['http://*', 'https://*'] : ['*'];
  const origins = allowOrigins.flatMap((origin) => (origin === '*' ? anyone : [origin]));
  return {
    origins: origins as NonNullable<Handle['cors']>['origins'],
    wildcard: 'many',
    methods: allowMethods.length === 0 ? ['GET', 'HEAD', 'POST'] : [...allowMethods],
    headers: [...allowHeaders],
    expose: [...exposeHeaders],
    credentials: allowCredentials,
    max_age_secs: maxAge,
  };
}
