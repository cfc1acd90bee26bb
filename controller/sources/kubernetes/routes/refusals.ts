import type { UndatedProblem } from '../../source.ts';
import type { Resource } from '../api/resource.ts';
import type { Refusal } from '../events/refusal.ts';
import { INGRESSES } from '../objects/ingress.ts';
import { type Owner, originOf } from '../objects/owner.ts';
import { SERVICES } from '../objects/service.ts';

/** Kinds of objects whose status has no conditions. */
const RESOURCES: { readonly [kind in Owner['kind']]?: Resource<unknown> } = { ingress: INGRESSES, service: SERVICES };

/** What is wrong with objects whose status has no conditions. Problems of others are left out. */
export function refusalsOf(owners: readonly Owner[], problems: readonly UndatedProblem[]): Refusal[] {
  const byOrigin = new Map(owners.map((owner) => [originOf(owner), owner]));
  return problems.flatMap(({ origin, code, message }) => {
    const owner = byOrigin.get(origin);
    const resource = owner && RESOURCES[owner.kind];
    return owner && resource ? [{ resource, meta: owner.meta, reason: camelCase(code), message }] : [];
  });
}

const camelCase = (code: string): string => code.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
