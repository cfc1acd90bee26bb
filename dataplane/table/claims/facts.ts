import type { RouteInput, RouteSpec } from '../../../shared/route.ts';

/** What the main thread needs to know about each route without reading it again. */
export type RouteFacts = {
  readonly https: RouteSpec['https'];
  /** Whether any target has an id, so that its address may later belong to something else. */
  readonly identifiedTargets: boolean;
  /** Whether any target is checked or probed. */
  readonly healthChecks: boolean;
};

/** There are few combinations, so routes with the same facts share one object. Indexed by ids, checks and `https`. */
const shared = [0, 1, 2, 3].map(() => new Map<RouteSpec['https'], RouteFacts>());

/** Facts of a route. An earlier version may have saved it, so members with a default may be missing. */
export function factsOf(route: RouteInput): RouteFacts {
  const { https = 'auto', health = null, handles = [] } = route;
  const identifiedTargets = hasIdentifiedTargets(route);
  const isChecked = health !== null || handles.some((handle) => handle.health != null);
  const healthChecks = isChecked || hasTarget(route, ({ probe }) => probe === true);
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
