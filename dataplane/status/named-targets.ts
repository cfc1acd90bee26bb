import { poolsIn } from '../../shared/pools.ts';
import type { RouteSpec } from '../../shared/route.ts';
import { transportName } from '../../shared/transport.ts';
import { activeCheck, type HealthCheck } from '../ledger/health-checks.ts';
import { targetName } from '../ledger/targets.ts';
import type { OwnedRoute } from '../table/table.ts';

/** Domains that are named of each target; the others are counted. */
const NAMED_DOMAINS = 10;
/** In place of a state: what its source says of it is from before the start. */
export const UNCONFIRMED = 'unconfirmed';

/** How one route sees a target. */
type RouteView = { readonly state: string; readonly check: HealthCheck | null };

/** A target with the domains that name it, and how they see it: each way once. */
export type NamedTarget = {
  readonly address: string;
  readonly tls: boolean;
  readonly id: string | null;
  /** How it is spoken to, as `transportName` has it. */
  readonly transport: string;
  readonly domains: string[];
  count: number;
  /** The domain that was counted last: it may name the target several times. */
  counted: string;
  readonly views: Map<string, RouteView>;
};

/** Every target that a route names, by its name. */
export function namedTargets(routes: readonly OwnedRoute[]): Map<string, NamedTarget> {
  const known = new Map<string, NamedTarget>();
  for (const { route, unconfirmed } of routes) for (const view of viewsOf(route, unconfirmed)) addTarget(known, route.domain, view);
  return known;
}

type SeenTarget = RouteView & Pick<NamedTarget, 'address' | 'tls' | 'id' | 'transport'>;

const viewsOf = (route: RouteSpec, unconfirmed: boolean): SeenTarget[] =>
  poolsIn(route).flatMap(({ upstreams, tls, transport }) => {
    const manner = transportName(transport);
    return upstreams.map((upstream): SeenTarget => {
      const { address, id = null } = upstream;
      const target = { address, tls, id, transport: manner };
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
 * Why no route would send a request to the target, in words; null where one would. `outcome` tells what a question to
 * it came to: why it is kept out, or nothing.
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
  return state === UNCONFIRMED ? 'its address is from before the restart; waiting for the controller' : `its source says ${state}`;
}
