import type { HandleSpec, RouteSpec, UpstreamSpec } from '../../../shared/route.ts';
import type { PublishedRoute } from '../../publish/publisher.ts';
import type { Claim, Claims } from '../claims/claims.ts';
import { factsOf, isIdentified } from '../claims/facts.ts';
import { inSteps } from '../steps.ts';

/** How long requests wait for a target that may have become another one, at least (s). */
const HOLD_SECS = 10;

/** Routes of one source whose targets wait for their controller. */
export type Doubt = { readonly controller: string; readonly source: string; readonly routes: number };

const isWaiting = ({ upstreams }: Pick<HandleSpec, 'upstreams'>): boolean => upstreams.some(isIdentified);

/** Restored claims of controllers, in doubt where `doubted` says so and there is a target to doubt. */
export function inDoubt(claims: Map<string, Claims>, doubted: (controller: string, source: string) => boolean): void {
  for (const [domain, { hand, applied }] of claims) {
    if (applied === null || applied.controller === null || applied.source === null || !applied.facts.identifiedTargets) continue;
    if (doubted(applied.controller, applied.source)) claims.set(domain, { hand, applied: { ...applied, doubted: true } });
  }
}

/** What is in doubt, by controller and source. */
export function doubtsIn(claims: ReadonlyMap<string, Claims>): Doubt[] {
  const doubts = new Map<string, Doubt>();
  for (const { applied } of claims.values()) {
    if (applied?.doubted !== true || applied.controller === null || applied.source === null) continue;
    const { controller, source } = applied;
    const key = JSON.stringify([controller, source]);
    doubts.set(key, { controller, source, routes: (doubts.get(key)?.routes ?? 0) + 1 });
  }
  return [...doubts.values()];
}

/** Adds to `changes` the claims of these sources that are in doubt, without the doubt. `except`: domains that nobody spoke for. */
export async function clear(
  claims: ReadonlyMap<string, Claims>,
  controller: string,
  sources: readonly string[],
  changes: Map<string, Claims>,
  except: ReadonlySet<string> = new Set(),
): Promise<void> {
  await inSteps(claims, ([domain, { hand, applied }]) => {
    if (applied?.doubted !== true || applied.controller !== controller || applied.source === null) return;
    if (!sources.includes(applied.source) || changes.has(domain) || except.has(domain)) return;
    changes.set(domain, { hand, applied: { ...applied, doubted: false } });
  });
}

/** What workers are given of a claim: while it is in doubt none of its targets that have an id is in rotation, and requests wait for one. */
export function served(domain: string, { json, facts, doubted }: Claim): PublishedRoute {
  if (doubted !== true) return { domain, json, healthChecks: facts.healthChecks };
  const route = withheld(JSON.parse(json));
  return { domain, json: JSON.stringify(route), healthChecks: factsOf(route).healthChecks };
}

function withheld(route: RouteSpec): RouteSpec {
  const handles = route.handles.map((handle) => {
    const hold = handle.hold_secs === undefined ? route.hold_secs : handle.hold_secs;
    // A block without targets has those of its site.
    return { ...handle, ...heldBack(handle.upstreams, hold, isWaiting(handle.upstreams.length === 0 ? route : handle)) };
  });
  return { ...route, ...heldBack(route.upstreams, route.hold_secs, isWaiting(route)), handles };
}

const heldBack = (upstreams: readonly UpstreamSpec[], hold: number | null | undefined, waits: boolean) => ({
  upstreams: upstreams.map((target) => (isIdentified(target) ? { ...target, state: 'starting' as const, probe: false } : target)),
  hold_secs: waits ? Math.max(hold ?? 0, HOLD_SECS) : (hold ?? null),
});
