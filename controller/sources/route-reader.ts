import { type RouteInput, type RouteSpec, readAppliedRoute } from '../../shared/route.ts';

export type RouteReader = {
  /** The result is a reason if the data can't form a route. */
  read(input: RouteInput): RouteSpec | { readonly reason: string };
  /** Forgets the routes of all other domains, which would otherwise be kept when nothing has them any more. */
  keepOnly(domains: { has(domain: string): boolean }): void;
};

/** Reads routes that a source has built, each time all of them. Unchanged ones keep their objects, by which readers cache their results. */
export function createRouteReader(): RouteReader {
  const known = new Map<string, { readonly text: string; readonly route: RouteSpec }>();
  return {
    read(input) {
      const text = JSON.stringify(input);
      const before = known.get(input.domain);
      if (before?.text === text) return before.route;
      const read = readAppliedRoute(input);
      if ('problem' in read) return { reason: `${read.problem.member}: ${read.problem.reason}` };
      known.set(input.domain, { text, route: read.route });
      return read.route;
    },
    keepOnly(domains) {
      for (const domain of known.keys()) if (!domains.has(domain)) known.delete(domain);
    },
  };
}
