import type { RouteInput } from '../../../shared/route.ts';
import { targetsIn } from '../../../shared/upstreams/pools.ts';
import { type Claim, type Claims, isUnconfirmed, lostName } from '../claims/claims.ts';
import type { ControllerRecord } from '../controllers/controllers.ts';
import { inSteps } from '../steps.ts';

/** Adds the claims from these sources that name one of the targets to `changes`. @returns the names of the targets that they name. */
export async function markLost(
  claims: ReadonlyMap<string, Claims>,
  unattended: ReadonlyMap<string, ReadonlySet<string>>,
  names: ReadonlySet<string>,
  changes: Map<string, Claims>,
): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  await inSteps(claims, ([domain, { hand, applied }]) => {
    if (applied === null || unattended.get(applied.controller ?? '')?.has(applied.source ?? '') !== true) return;
    const lost = namedIn(applied, names);
    if (lost.length === 0) return;
    for (const name of lost) found.add(name);
    changes.set(domain, { hand, applied: withLost(applied, lost) });
  });
  return found;
}

/** Marks the restored claims with targets that were lost in the process that had the table until now. */
export function markLostBefore(claims: Map<string, Claims>, controllers: ReadonlyMap<string, Pick<ControllerRecord, 'lost'>>): void {
  const byController = new Map([...controllers].map(([id, { lost }]) => [id, new Set(lost)]));
  for (const [domain, { hand, applied }] of claims) {
    const names = byController.get(applied?.controller ?? '') ?? new Set();
    if (applied === null || names.size === 0) continue;
    const lost = namedIn(applied, names);
    if (lost.length > 0) claims.set(domain, { hand, applied: withLost(applied, lost) });
  }
}

/** The names of all targets that are lost, by controller. */
export function lostTargetsIn(claims: ReadonlyMap<string, Claims>): ReadonlyMap<string, ReadonlySet<string>> {
  const all = new Map<string, Set<string>>();
  for (const { applied } of claims.values()) {
    if (applied?.lost === undefined || applied.controller === null) continue;
    const names = all.get(applied.controller) ?? new Set();
    for (const name of applied.lost) names.add(name);
    all.set(applied.controller, names);
  }
  return all;
}

/** Which of these targets a claim names, and are in use there. */
function namedIn(claim: Claim, names: ReadonlySet<string>): string[] {
  if (!claim.facts.identifiedTargets || isUnconfirmed(claim)) return [];
  const route: RouteInput = JSON.parse(claim.json);
  return targetsIn(route)
    .map(lostName)
    .filter((name) => names.has(name) && claim.lost?.has(name) !== true);
}

const withLost = (claim: Claim, lost: readonly string[]): Claim => ({ ...claim, lost: new Set([...(claim.lost ?? []), ...lost]) });
