import type { RouteInput, RouteSpec } from '../../../shared/route.ts';

/** What the main thread needs to know about each route without reading it again. */
export type RouteFacts = {
  readonly https: RouteSpec['https'];
  /** Whether a target has an id: its address may belong to something else tomorrow. */
  readonly identifiedTargets: boolean;
  /** Whether the health of a target is checked or probed. */
  readonly healthChecks: boolean;
};

/** There are few combinations: routes with the same facts share one object. By whether targets have ids and checks, then by `https`. */
const shared = [0, 1, 2, 3].map(() => new Map<RouteSpec['https'], RouteFacts>());

/** Facts of a route, which may be one as an earlier version saved it: a member that has a default may be missing. */
export function factsOf(route: RouteInput): RouteFacts {
  const { https = 'auto', health = null } = route;
  const identifiedTargets = hasIdentifiedTargets(route);
  const healthChecks = health !== null || hasTarget(route, ({ probe }) => probe === true);
  const known = shared[Number(identifiedTargets) + 2 * Number(healthChecks)];
  const facts = known?.get(https) ?? { https, identifiedTargets, healthChecks };
  known?.set(https, facts);
  return facts;
}

type Target = NonNullable<RouteInput['upstreams']>[number];

export const isIdentified = ({ id }: Target): boolean => id !== undefined;

export const hasIdentifiedTargets = (route: RouteInput): boolean => hasTarget(route, isIdentified);

const hasTarget = ({ upstreams = [], handles = [] }: RouteInput, is: (target: Target) => boolean): boolean =>
  upstreams.some(is) || handles.some((handle) => handle.upstreams?.some(is));
