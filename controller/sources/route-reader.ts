import { type RouteInput, type RouteSpec, readAppliedRoute } from '../../shared/route.ts';

const MAX_REMEMBERED = 20_000;

/**
 * Reads routes that a source has built, each time all of them. Unchanged ones keep their objects, by which readers cache their results. The
 * result is a reason if the data can't form a route.
 */
export function createRouteReader(): (input: RouteInput) => RouteSpec | { readonly reason: string } {
  const known = new Map<string, { readonly text: string; readonly route: RouteSpec }>();
  return (input) => {
    const text = JSON.stringify(input);
    const before = known.get(input.domain);
    if (before?.text === text) return before.route;
    const read = readAppliedRoute(input);
    if ('problem' in read) return { reason: `${read.problem.member}: ${read.problem.reason}` };
    if (known.size > MAX_REMEMBERED) known.clear();
    known.set(input.domain, { text, route: read.route });
    return read.route;
  };
}
