import { poolsIn } from '../../shared/pools.ts';
import type { RouteSpec } from '../../shared/route.ts';
import { transportName } from '../../shared/transport.ts';
import { activeCheck, type HealthCheck } from '../ledger/health-checks.ts';
import { targetName } from '../ledger/targets.ts';
import type { OwnedRoute } from '../table/table.ts';

/** How many domains are listed for each target; further ones are only counted. */
const NAMED_DOMAINS = 10;
/** Replaces the state of a target that its source has not confirmed since the start. */
export const UNCONFIRMED = 'unconfirmed';

/** How one route sees a target. */
type RouteView = { readonly state: string; readonly check: HealthCheck | null };

/** A target with the domains that use it and their distinct views of it. */
export type NamedTarget = {
  readonly address: string;
  readonly tls: boolean;
  readonly id: string | null;
  /** Its transport, by `transportName`. */
  readonly transport: string;
  readonly domains: string[];
  count: number;
  /** The last counted domain, since one domain may use the target several times. */
  counted: string;
  readonly views: Map<string, RouteView>;
};

/** Every target used by a route, by its name. */
export function namedTargets(routes: readonly OwnedRoute[]): Map<string, NamedTarget> {
  const known = new Map<string, NamedTarget>();
  for (const { route, unconfirmed } of routes) for (const view of viewsOf(route, unconfirmed)) addTarget(known, route.domain, view);
  return known;
}

type SeenTarget = RouteView & Pick<NamedTarget, 'address' | 'tls' | 'id' | 'transport'>;

const viewsOf = (route: RouteSpec, unconfirmed: boolean): SeenTarget[] =>
  poolsIn(route).flatMap(({ upstreams, tls, transport }) => {
    const name = transportName(transport);
    return upstreams.map((upstream): SeenTarget => {
      const { address, id = null } = upstream;
      const target = { address, tls, id, transport: name };
      if (unconfirmed && id !== null) return { ...target, state: UNCONFIRMED, check: null };
      return { ...target, state: upstream.state, check: activeCheck(route.domain, upstream, tls, route.health, transport) };
    });
  });

function addTarget(known: Map<string, NamedTarget>, domain: string, { address, tls, id, transport, state, check }: SeenTarget): void {
  const name = targetName(address, tls, id, transport);
  let target = known.get(name);
  if (target === undefined) {
    target = { address, tls, id, transport, domains: [], count: 0, counted: '', views: new Map() };
    known.set(name, target);
  }
  target.views.set(`${state} ${check?.name ?? ''}`, { state, check });
  if (target.counted === domain) return;
  target.counted = domain;
  target.count++;
  if (target.domains.length < NAMED_DOMAINS) target.domains.push(domain);
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

function outOfRotationReasonFor({ state, check }: RouteView, outcome: (check: HealthCheck) => string): string | null {
  if (check !== null) return outcome(check) || null;
  if (state === 'healthy') return null;
  return state === UNCONFIRMED ? 'its restored address is not confirmed; waiting for the controller' : `its source says ${state}`;
}
