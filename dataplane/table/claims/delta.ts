import type { RoutesChange } from '../../publish/publisher.ts';
import type { Save } from '../disk/store.ts';
import { inSteps } from '../steps.ts';
import { served } from '../unconfirmed/unconfirmed.ts';
import { type Claims, isDoubted, isOverridden, LAYERS, NOBODY, sameRoute, sameRow, visible } from './claims.ts';

/** What a change of claims comes to: on disk, for visitors, and for those who are told. */
export type Delta = {
  readonly save: Pick<Save, 'puts' | 'deletes'>;
  readonly routes: RoutesChange;
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** By how many more routes are posted over a controller's. */
  readonly overridden: number;
  /** By how many more routes are in doubt. */
  readonly doubted: number;
};

/** Compares claims as they will be with those as they are. Nothing happens yet. */
export async function deltaOf(next: ReadonlyMap<string, Claims>, current: ReadonlyMap<string, Claims>): Promise<Delta> {
  const puts: Save['puts'][number][] = [];
  const deletes: Save['deletes'][number][] = [];
  const upserts: RoutesChange['upserts'][number][] = [];
  const added: string[] = [];
  const changed: string[] = [];
  const removed: string[] = [];
  let overridden = 0;
  let doubted = 0;
  await inSteps(next, ([domain, will]) => {
    const was = current.get(domain) ?? NOBODY;
    overridden += Number(isOverridden(will)) - Number(isOverridden(was));
    doubted += Number(isDoubted(will.applied)) - Number(isDoubted(was.applied));
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
    upserts.push(served(domain, after));
    if (before === null) added.push(domain);
    else if (before.json !== after.json) changed.push(domain);
  });
  return { save: { puts, deletes }, routes: { whole: false, upserts, removed }, added, changed, removed, overridden, doubted };
}
