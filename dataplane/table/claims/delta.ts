import type { RoutesChange } from '../../publish/publisher.ts';
import type { Save } from '../disk/store.ts';
import { inSteps } from '../steps.ts';
import { routeEntry } from '../unconfirmed/published-routes.ts';
import { awaitsController, type Claims, isOverridden, LAYERS, NO_CLAIMS, sameRoute, sameRow, visible } from './claims.ts';

/** The effect of a change of claims: on disk, for visitors, and for listeners. */
export type Delta = {
  readonly save: Pick<Save, 'puts' | 'deletes'>;
  readonly routes: RoutesChange;
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Change in the number of overridden controller routes. */
  readonly overridden: number;
  /** Change in the number of controller routes with targets that await it. */
  readonly awaiting: number;
};

/** Compares new claims with the current ones, without changing anything. */
export async function deltaOf(next: ReadonlyMap<string, Claims>, current: ReadonlyMap<string, Claims>): Promise<Delta> {
  const puts: Save['puts'][number][] = [];
  const deletes: Save['deletes'][number][] = [];
  const upserts: RoutesChange['upserts'][number][] = [];
  const added: string[] = [];
  const changed: string[] = [];
  const removed: string[] = [];
  let overridden = 0;
  let awaiting = 0;
  await inSteps(next, ([domain, will]) => {
    const was = current.get(domain) ?? NO_CLAIMS;
    overridden += Number(isOverridden(will)) - Number(isOverridden(was));
    awaiting += Number(awaitsController(will.applied)) - Number(awaitsController(was.applied));
    for (const layer of LAYERS) {
      const claim = will[layer];
      if (sameRow(claim, was[layer])) continue;
      if (claim === null) deletes.push({ domain, layer });
      else puts.push({ domain, layer, claim });
    }
    const before = visible(was);
    const after = visible(will);
    if (sameRoute(after, before)) return;
    if (after === null) return void removed.push(domain);
    upserts.push(routeEntry(domain, after));
    if (before === null) added.push(domain);
    else if (before.json !== after.json) changed.push(domain);
  });
  return { save: { puts, deletes }, routes: { whole: false, upserts, removed }, added, changed, removed, overridden, awaiting };
}
