import { mirrorsIn } from '../../shared/policy/mirror/effective.ts';
import { answersItself, type RouteSpec } from '../../shared/route.ts';
import { ownPool, poolsIn } from '../../shared/upstreams/pools.ts';
import { transportName } from '../../shared/upstreams/transport.ts';
import type { Key } from '../ledger/hash.ts';
import { activeCheck, type HealthCheck } from '../ledger/health-checks.ts';
import { targetKey, targetName } from '../ledger/targets.ts';
import { lostName } from '../table/claims/claims.ts';
import type { OwnedRoute } from '../table/table.ts';

/** How many domains are listed for each target; further ones are only counted. */
const NAMED_DOMAINS = 10;
/** Replaces the state of a target that its source has not confirmed since the start. */
export const UNCONFIRMED = 'unconfirmed';
/** Replaces that of a target that did not accept connections while its controller was away. */
const LOST = 'lost';

/** How one route sees a target. */
export type RouteView = {
  readonly state: string;
  readonly check: HealthCheck | null;
  /** Whether its weight is 0: it gets no requests, and is never tried. */
  readonly isUnused: boolean;
  /** With `lb_policy first`, the members of its pool, of which it gets requests only if none of as many as `count` serves; null otherwise. */
  readonly before: { readonly members: readonly PoolTarget[]; readonly count: number } | null;
};

/** A target with the domains that use it and their distinct views of it. */
export type NamedTarget = {
  readonly address: string;
  readonly tls: boolean;
  readonly id: string | null;
  /** Its transport, by `transportName`. */
  readonly transport: string;
  /** By which the ledger knows it: a hash, made once. */
  readonly key: Key;
  readonly domains: string[];
  count: number;
  /** The last counted domain, since one domain may use the target several times. */
  counted: string;
  readonly views: Map<string, RouteView>;
};

/** A target as one pool of a route uses it. */
export type PoolTarget = { readonly target: NamedTarget; readonly view: RouteView };
/**
 * Which pool of a route it is: its site's (`path` null), that of the block with this path, or that of another `part`, which may be one of that
 * block.
 */
export type PoolPlace = { readonly path: string | null; readonly part?: `block ${number}` | Mirror | 'tls_passthrough' };
/** Such as `mirror 2 of block 3`, the second of the third block. The first has no number, nor has a block with a path. */
type Mirror = 'mirror' | `mirror ${string}`;
/** Without members it belongs to a site that has lost its last target. */
export type RoutePool = PoolPlace & { readonly members: readonly PoolTarget[] };
export type RoutePools = { readonly domain: string; readonly pools: readonly RoutePool[] };

/** The targets of all routes, and the pools of each. */
export class TargetIndex {
  /** By name. */
  readonly targets = new Map<string, NamedTarget>();
  /** Routes that need a target. */
  readonly routes: RoutePools[] = [];

  add(owned: OwnedRoute): void {
    const { route } = owned;
    const places = placesIn(route);
    const pools = [...poolsIn(route), ...singleMirrorsIn(route)].flatMap((pool, index) => {
      const members: PoolTarget[] = [];
      const isInOrder = pool.lb_policy?.policy === 'first';
      for (const seen of viewsIn(pool, route, owned)) {
        const before = isInOrder ? { members, count: members.length } : null;
        members.push(addTarget(this.targets, route.domain, seen, before, index));
      }
      return members.length === 0 ? [] : [{ ...(places[index] ?? SITE), members }];
    });
    // A mirror answers nothing.
    const hasTarget = answersItself(route) || pools.some((pool) => !isMirror(pool));
    const listed = hasTarget ? pools : [{ ...SITE, members: [] }, ...pools];
    if (listed.length > 0) this.routes.push({ domain: route.domain, pools: listed });
  }
}

const SITE: PoolPlace = { path: null };

export const isMirror = ({ part }: Pick<PoolPlace, 'part'>): boolean => part?.startsWith('mirror') === true;

/** The targets of `mirror`, which names a single address instead of a pool. */
const singleMirrorsIn = (route: RouteSpec): Pool[] =>
  [route, ...route.handles].flatMap(({ mirror }) => mirrorsIn<RouteSpec['upstreams'][number]>({ mirror }, null));

/** The places of the pools that `poolsIn` lists, in its order, and of the mirrors beyond them. */
function placesIn(route: RouteSpec): PoolPlace[] {
  // The first block for all that is left is the site's in effect, if that has no targets of its own.
  const rest = route.upstreams.length > 0 ? -1 : route.handles.findIndex(isForAll);
  const blocks = route.handles.flatMap((handle, index): PoolPlace[] => {
    if (ownPool(route, handle) === null) return [];
    if (index === rest) return [SITE];
    return [handle.path === null ? { path: null, part: `block ${index + 1}` } : { path: handle.path }];
  });
  const parts = [route, ...route.handles];
  const mirrors = parts.flatMap(({ mirror, mirrors: more }, nth) =>
    (more ?? []).map((_, index) => placeOfMirror(route, nth - 1, index + (mirror == null ? 0 : 1))),
  );
  const singleMirrors = parts.flatMap(({ mirror }, nth) => (mirror == null ? [] : [placeOfMirror(route, nth - 1, 0)]));
  const passed = (route.tls_passthrough ?? []).map((): PoolPlace => ({ path: null, part: 'tls_passthrough' }));
  return [SITE, ...blocks, ...mirrors, ...passed, ...singleMirrors];
}

/** `block` is its index, -1 for the site. */
function placeOfMirror({ handles }: RouteSpec, block: number, nth: number): PoolPlace {
  const part: Mirror = nth === 0 ? 'mirror' : `mirror ${nth + 1}`;
  const handle = handles[block];
  if (handle === undefined) return { path: null, part };
  return handle.path === null ? { path: null, part: `${part} of block ${block + 1}` } : { path: handle.path, part };
}

const isForAll = ({ path, match }: RouteSpec['handles'][number]): boolean => (path === null || path === '/*') && match == null;

/** Every target used by a route, by its name. */
export function indexTargets(routes: readonly OwnedRoute[]): TargetIndex {
  const index = new TargetIndex();
  for (const route of routes) index.add(route);
  return index;
}

const WAITS: Readonly<Record<string, string>> = {
  [UNCONFIRMED]: 'its restored address is not confirmed; waiting for the controller',
  [LOST]: 'it did not accept connections while the controller was away, so its address may be another’s; waiting for the controller',
};

type SeenTarget = Omit<RouteView, 'before'> & Pick<NamedTarget, 'address' | 'tls' | 'id' | 'transport'>;
type Pool = ReturnType<typeof poolsIn<RouteSpec['upstreams'][number]>>[number];

function viewsIn(
  { upstreams, tls, transport, health }: Pool,
  route: RouteSpec,
  { unconfirmed, lost }: Pick<OwnedRoute, 'unconfirmed' | 'lost'>,
): SeenTarget[] {
  const name = transportName(transport);
  return upstreams.map((upstream): SeenTarget => {
    const { address, id = null } = upstream;
    const target = { address, tls, id, transport: name, isUnused: upstream.weight === 0 };
    if (unconfirmed && id !== null) return { ...target, state: UNCONFIRMED, check: null };
    if (lost.size > 0 && lost.has(lostName(upstream))) return { ...target, state: LOST, check: null };
    return { ...target, state: upstream.state, check: activeCheck(route.domain, upstream, tls, health, transport) };
  });
}

function addTarget(
  known: Map<string, NamedTarget>,
  domain: string,
  seen: SeenTarget,
  before: RouteView['before'],
  pool: number,
): PoolTarget {
  const { address, tls, id, transport, state, check, isUnused } = seen;
  const name = targetName(address, tls, id, transport);
  let target = known.get(name);
  if (target === undefined) {
    target = {
      address,
      tls,
      id,
      transport,
      key: targetKey(address, tls, id, transport),
      domains: [],
      count: 0,
      counted: '',
      views: new Map(),
    };
    known.set(name, target);
  }
  const key = `${state} ${isUnused} ${before === null ? '' : `${domain} ${pool}`} ${check?.name ?? ''}`;
  const view = target.views.get(key) ?? { state, check, isUnused, before };
  target.views.set(key, view);
  if (target.counted !== domain) {
    target.counted = domain;
    target.count++;
    if (target.domains.length < NAMED_DOMAINS) target.domains.push(domain);
  }
  return { target, view };
}

/**
 * Why no route would send a request to the target; null if one would. `outcome` is the result of a health check: why the
 * target is kept out, or an empty text.
 */
export function outOfRotationReason({ views }: NamedTarget, outcome: (check: HealthCheck) => string): string | null {
  let why: string | null = null;
  for (const view of views.values()) {
    const reason = outOfRotationReasonFor(view, outcome);
    // In rotation for one route is in rotation.
    if (reason === null) return null;
    why ??= reason;
  }
  return why;
}

/** Why this route would not send a request to the target; null if it would. */
export function outOfRotationReasonFor({ state, check }: RouteView, outcome: (check: HealthCheck) => string): string | null {
  if (check !== null) return outcome(check) || null;
  if (state === 'healthy') return null;
  return WAITS[state] ?? `its source says ${state}`;
}
