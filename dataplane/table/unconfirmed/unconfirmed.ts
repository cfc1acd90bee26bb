import { awaitsController, type Claims, confirmed, isUnconfirmed } from '../claims/claims.ts';
import { inSteps } from '../steps.ts';

/** A source of a controller with routes whose targets wait for confirmation. */
export type UnconfirmedSource = { readonly controller: string; readonly source: string; readonly routes: number };

/** Marks the restored claims that have targets with ids and belong to sources selected by `unconfirmed`. */
export function markUnconfirmed(claims: Map<string, Claims>, unconfirmed: (controller: string, source: string) => boolean): void {
  for (const [domain, { hand, applied }] of claims) {
    if (applied === null || applied.controller === null || applied.source === null || !applied.facts.identifiedTargets) continue;
    if (unconfirmed(applied.controller, applied.source)) claims.set(domain, { hand, applied: { ...applied, unconfirmed: true } });
  }
}

export function unconfirmedSourcesIn(claims: ReadonlyMap<string, Claims>): UnconfirmedSource[] {
  const sources = new Map<string, UnconfirmedSource>();
  for (const { applied } of claims.values()) {
    if (applied === null || !isUnconfirmed(applied) || applied.controller === null || applied.source === null) continue;
    const { controller, source } = applied;
    const key = JSON.stringify([controller, source]);
    sources.set(key, { controller, source, routes: (sources.get(key)?.routes ?? 0) + 1 });
  }
  return [...sources.values()];
}

/** Adds the claims of these sources that await their controller to `changes`, as confirmed. `except`: domains whose lines were rejected. */
export async function confirm(
  claims: ReadonlyMap<string, Claims>,
  controller: string,
  sources: readonly string[],
  changes: Map<string, Claims>,
  except: ReadonlySet<string> = new Set(),
): Promise<void> {
  await inSteps(claims, ([domain, { hand, applied }]) => {
    if (applied === null || !awaitsController(applied) || applied.controller !== controller || applied.source === null) return;
    if (!sources.includes(applied.source) || changes.has(domain) || except.has(domain)) return;
    changes.set(domain, { hand, applied: confirmed(applied) });
  });
}
