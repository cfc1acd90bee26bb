import type { UndatedProblem } from '../../source.ts';
import type { Refusal } from '../events/refusal.ts';
import { INGRESSES } from '../objects/ingress.ts';
import { SERVICES } from '../objects/service.ts';
import { type Owner, originOf } from './claim.ts';

const RESOURCES = { ingress: INGRESSES, service: SERVICES } as const;

/** What is wrong with objects that have no conditions. Problems of others are left out. */
export function refusalsOf(owners: readonly Owner[], problems: readonly UndatedProblem[]): Refusal[] {
  const byOrigin = new Map(owners.map((owner) => [originOf(owner), owner]));
  return problems.flatMap(({ origin, code, message }) => {
    const owner = byOrigin.get(origin);
    return owner === undefined ? [] : [{ resource: RESOURCES[owner.kind], meta: owner.meta, reason: camelCase(code), message }];
  });
}

const camelCase = (code: string): string => code.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
