import type { RouteInput, RouteSpec } from '../../../shared/route.ts';
import { targetsIn } from '../../../shared/upstreams/pools.ts';

/** What the main thread needs to know about each route without reading it again. */
export type RouteFacts = {
  readonly https: RouteSpec['https'];
  /** Whether any target has an id, so that its address may later belong to something else. */
  readonly identifiedTargets: boolean;
  /** Whether any target is checked or probed. */
  readonly healthChecks: boolean;
  /** Whether any policy verifies tokens with keys that are fetched. */
  readonly fetchesKeys: boolean;
  /** Whether it needs something that the data plane may not have: a cache, ports of its own, directories. */
  readonly needsSetup: boolean;
  /** Whether it passes TLS connections through. */
  readonly passesTls: boolean;
  /** Whether it is for a wildcard that stands for several labels. */
  readonly severalLabels: boolean;
};

/**
 * There are few combinations, so routes with the same facts share one object. Indexed by ids, checks, keys, setup, TLS, labels
 * and `https`.
 */
const shared = Array.from({ length: 64 }, () => new Map<RouteSpec['https'], RouteFacts>());

/** Facts of a route. An earlier version may have saved it, so members with a default may be missing. */
export function factsOf(route: RouteInput): RouteFacts {
  const { https = 'auto', health = null, handles = [] } = route;
  const identifiedTargets = hasIdentifiedTargets(route);
  const isChecked = health !== null || handles.some((handle) => handle.health != null);
  const healthChecks = isChecked || hasTarget(route, ({ probe }) => probe === true);
  const fetchesKeys = [route, ...handles].some(({ jwt }) => jwt?.key_source != null);
  const needsSetup = route.ports != null || [route, ...handles].some(needsCacheOrFiles);
  const passesTls = route.tls_passthrough != null;
  const severalLabels = route.wildcard === 'many';
  const bits = [identifiedTargets, healthChecks, fetchesKeys, needsSetup, passesTls, severalLabels];
  const known = shared[bits.reduce((sum, bit, at) => sum + (Number(bit) << at), 0)];
  const facts = known?.get(https) ?? { https, identifiedTargets, healthChecks, fetchesKeys, needsSetup, passesTls, severalLabels };
  known?.set(https, facts);
  return facts;
}

type SiteOrBlock = Pick<RouteInput, 'cache' | 'file_server' | 'handle_errors'>;

const needsCacheOrFiles = ({ cache, file_server, handle_errors }: SiteOrBlock): boolean =>
  cache != null || file_server != null || handle_errors != null;

type Target = NonNullable<RouteInput['upstreams']>[number];

export const isIdentified = ({ id }: Target): boolean => id !== undefined;

export const hasIdentifiedTargets = (route: RouteInput): boolean => hasTarget(route, isIdentified);

const hasTarget = (route: RouteInput, is: (target: Target) => boolean): boolean => targetsIn(route).some(is);
