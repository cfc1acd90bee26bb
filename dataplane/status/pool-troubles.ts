import type { LastFailure } from '../../shared/wire/status.ts';
import type { PoolTrouble } from './alerts.ts';
import { type PoolTarget, type RoutePool, UNCONFIRMED } from './named-targets.ts';

type View = {
  /** Why the pool sends a target no requests; null if it does. */
  reason(member: PoolTarget): string | null;
  failure(member: PoolTarget): LastFailure | undefined;
};

/**
 * The targets that should get requests and do not, if there are any. A target that is leaving or starting is part of every replacement,
 * so it counts only if nothing else is left. Restored targets that wait for their controller are reported as such, not here.
 */
export function poolTroubles(domain: string, { members, ...place }: RoutePool, { reason, failure }: View): PoolTrouble[] {
  if (members.length === 0) return [{ domain, ...place, targets: 0, out: [] }];
  const judged = members
    .filter(({ view: { state } }) => state !== 'draining' && state !== UNCONFIRMED)
    .map((member) => ({ member, why: reason(member) }));
  const serving = judged.some(({ why }) => why === null);
  const counted = serving ? judged.filter(({ member, why }) => why === null || member.view.state !== 'starting') : judged;
  const out = counted.flatMap(({ member, why }) => {
    if (why === null) return [];
    const last = failure(member);
    return [{ address: member.target.address, reason: why, ...(last && { failure: last }) }];
  });
  return out.length === 0 ? [] : [{ domain, ...place, targets: counted.length, out }];
}
