/** Every endpoint: method, path and handler. Paths are case-sensitive. A name in braces is one segment; `{path...}` is the rest. */
export const ENDPOINTS = [
  { method: 'GET', path: '/health', handler: 'health', does: 'Whether the process is alive; no token, never counted' },
  { method: 'GET', path: '/ready', handler: 'ready', does: 'Whether it is serving a known good configuration; no token, never counted' },
  { method: 'GET', path: '/routes', handler: 'listRoutes', does: 'All routes, sorted by domain; `?view=full` adds the extension members' },
  {
    method: 'POST',
    path: '/routes',
    handler: 'postRoute',
    does: 'Adds or replaces one route; with `application/x-ndjson` an apply stream',
  },
  { method: 'DELETE', path: '/routes/{domain}', handler: 'deleteRoute', does: 'Removes a route' },
  { method: 'GET', path: '/metrics', handler: 'metrics', does: 'Prometheus text format' },
  { method: 'GET', path: '/analytics', handler: 'listAnalytics', does: 'A snapshot for every domain that has had traffic' },
  { method: 'GET', path: '/analytics/{domain}', handler: 'oneAnalytics', does: 'The snapshot of one domain' },
  { method: 'DELETE', path: '/analytics/{domain}', handler: 'forgetAnalytics', does: 'Forgets a domain: its snapshot and its history' },
  {
    method: 'GET',
    path: '/analytics/{domain}/history',
    handler: 'history',
    does: 'Visits of a domain over time, with their pages, referrers and so on: `?from=&to=&step=`, `&format=csv`',
  },
  { method: 'GET', path: '/history', handler: 'historyOfAll', does: 'The same for all domains together, and the busiest of them' },
  { method: 'PURGE', path: '/cache/{host}/{path...}', handler: 'purge', does: 'Invalidates one cache entry' },
  { method: 'PURGE', path: '/cache', handler: 'purgeMany', does: 'Invalidates the entries of `?tag=`, or of `?host=&prefix=`' },
  { method: 'POST', path: '/reload', handler: 'reload', does: 'Re-reads the config file; `?wait=true` waits for the result' },
  {
    method: 'GET',
    path: '/events',
    handler: 'events',
    does: 'Server-sent events: routes, upstreams, workers, controllers, reloads; `?view=dashboard`: an overview',
  },
  {
    method: 'DELETE',
    path: '/controllers/{id}',
    handler: 'forgetController',
    does: 'Forgets a controller that is gone permanently, and removes its routes and certificates',
  },
  { method: 'GET', path: '/alerts', handler: 'alerts', does: 'What is wrong right now, worst first, each with what to do about it' },
  { method: 'GET', path: '/certificates', handler: 'listCertificates', does: 'All certificates with their times, and why any are missing' },
  {
    method: 'GET',
    path: '/certificates/root',
    handler: 'internalRoot',
    does: 'The root certificate of the internal authority, in PEM, without its key',
  },
  { method: 'POST', path: '/certificates', handler: 'postCertificate', does: 'Stores a certificate and its key for one or more domains' },
  { method: 'POST', path: '/certificates/{domain}', handler: 'retryCertificate', does: 'Retries a failed order immediately' },
  {
    method: 'DELETE',
    path: '/certificates/{domain}',
    handler: 'deleteCertificate',
    does: 'Removes the certificate that was posted for a domain',
  },
  { method: 'GET', path: '/upstreams', handler: 'upstreams', does: 'All targets with their health, load and last failure' },
  { method: 'GET', path: '/explain', handler: 'explain', does: 'A dry run of `?url=`: route, block, policies, targets, and why' },
  { method: 'GET', path: '/settings', handler: 'settings', does: 'Effective settings and the source of each' },
  {
    method: 'GET',
    path: '/dashboard/',
    handler: 'dashboard',
    does: 'The dashboard: one file without data; no token, never counted',
  },
  { method: 'GET', path: '/dashboard', handler: 'toDashboard', does: 'Redirects to `/dashboard/`' },
  { method: 'GET', path: '/status', handler: 'status', does: 'Workers, controllers, problems and the last reload' },
] as const;

export type Endpoint = (typeof ENDPOINTS)[number];
export type HandlerName = Endpoint['handler'];

/** The endpoints that need no token and never count against the limit. Their responses need not be secret from anyone who can connect. */
const OPEN: ReadonlySet<HandlerName> = new Set<HandlerName>(['health', 'ready', 'dashboard', 'toDashboard']);
const OPEN_PATHS: ReadonlySet<string> = new Set(ENDPOINTS.filter(({ handler }) => OPEN.has(handler)).map(({ path }) => path));

export const isOpen = (method: string, path: string): boolean => method === 'GET' && OPEN_PATHS.has(path);

/** The endpoints of the probe listener. */
export const PROBES: ReadonlySet<HandlerName> = new Set<HandlerName>(['health', 'ready', 'metrics']);

/** The endpoints that the view token may read: analytics, routes and status. None of them contains a secret or changes anything. */
export const VIEWABLE: ReadonlySet<HandlerName> = new Set<HandlerName>([
  ...(['listRoutes', 'listAnalytics', 'oneAnalytics', 'history', 'historyOfAll', 'metrics', 'status'] as const),
  ...(['upstreams', 'listCertificates', 'explain', 'events', 'alerts'] as const),
]);

/** The published interface (its section 4), and what counts against the same limit. */
const PUBLISHED: ReadonlySet<HandlerName> = new Set<HandlerName>([
  'health',
  'listRoutes',
  'postRoute',
  'deleteRoute',
  'metrics',
  'listAnalytics',
  'oneAnalytics',
  'purge',
  'purgeMany',
  'reload',
]);

const EXTENSIONS: ReadonlySet<string> = new Set(
  ENDPOINTS.flatMap(({ handler, path }) => (PUBLISHED.has(handler) ? [] : [firstSegment(path)])),
);

/** Whether a path is an extension to the published interface, even if the request fails. */
export const isExtension = (path: string): boolean => EXTENSIONS.has(firstSegment(path));

function firstSegment(path: string): string {
  const slash = path.indexOf('/', 1);
  return slash < 0 ? path : path.slice(0, slash);
}

export type Match =
  | { readonly kind: 'endpoint'; readonly endpoint: Endpoint; readonly segments: readonly string[] }
  | { readonly kind: 'wrong method'; readonly allow: readonly string[] }
  | { readonly kind: 'unknown' };

/**
 * Finds the endpoint of a request. A collection's path with a trailing slash is its item with an empty segment.
 * @throws URIError for a bad percent-escape.
 */
export function matchEndpoint(method: string, path: string): Match {
  const found = ENDPOINTS.flatMap((endpoint) => {
    const segments = segmentsOf(endpoint.path, path);
    return segments === null ? [] : [{ endpoint, segments }];
  });
  if (found.length === 0) return { kind: 'unknown' };
  const hit = found.find(({ endpoint }) => endpoint.method === method);
  if (hit !== undefined) return { kind: 'endpoint', ...hit };
  return { kind: 'wrong method', allow: found.map(({ endpoint }) => endpoint.method) };
}

/** The decoded segments for the names in braces, or null if the path does not match. */
function segmentsOf(pattern: string, path: string): string[] | null {
  const brace = pattern.indexOf('/{');
  if (brace < 0) return pattern === path ? [] : null;
  const collection = pattern.slice(0, brace + 1);
  if (!path.startsWith(collection)) return null;
  const end = pattern.endsWith('...}') ? '' : pattern.slice(pattern.indexOf('}') + 1);
  if (!path.endsWith(end)) return null;
  const rest = path.slice(collection.length, path.length - end.length);
  if (!pattern.endsWith('...}')) return rest.includes('/') ? null : [decodeURIComponent(rest)];
  const slash = rest.indexOf('/');
  const [first, second] = slash < 0 ? [rest, ''] : [rest.slice(0, slash), rest.slice(slash)];
  return [decodeURIComponent(first), decodeURIComponent(second)];
}
