import { type RouteInput, type RouteSpec, readRoute } from '../../../shared/route.ts';
import type { Listing } from '../desire.ts';

/** A route for tests: `sampleRoute('a.example', '127.0.0.1:1')`. */
export function sampleRoute(domain: string, upstream = '127.0.0.1:9000', more: Partial<RouteInput> = {}): RouteSpec {
  const read = readRoute({ domain, upstream, tls: false, source: 'file', origin: `Sluicefile:${domain}`, ...more });
  if ('problem' in read) throw new Error(`${read.problem.member}: ${read.problem.reason}`);
  return read.route;
}

/** A listing for tests, from routes or domains. */
export function sampleListing(routes: readonly (RouteSpec | string)[], more: Partial<Listing> = {}): Listing {
  const source = more.source ?? 'file';
  const specs = routes.map((route) =>
    typeof route === 'string' ? sampleRoute(route, undefined, { source, origin: `${source} ${route}` }) : route,
  );
  return { kind: 'listed', source, routes: specs, problems: [], ...more };
}
