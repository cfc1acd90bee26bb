import type { Fact } from '../../shared/wire/apply.ts';
import type { RouteConditions } from '../../shared/wire/status.ts';
import type { LiveTable } from '../table/live-table.ts';
import type { OwnedRoute } from '../table/table.ts';

/**
 * The conditions of a route: those of its controller, which are absent if the route was posted or nothing is reported, and those of this
 * data plane.
 */
export function conditionsOf(owned: OwnedRoute, domain: string, table: LiveTable): RouteConditions {
  const { controller } = owned;
  const { accepted, resolved } = (controller === null ? undefined : table.reportedConditions(controller, domain)) ?? {};
  return { ...(accepted && { accepted }), ...(resolved && { resolved }), programmed: programmed(owned, domain, table) };
}

function programmed({ controller, since, unconfirmed }: OwnedRoute, domain: string, table: LiveTable): Fact {
  const refusal = controller === null ? undefined : table.refusalOf(controller, domain);
  if (refusal !== undefined)
    return fact(false, `the newest version is ${refusal.result}: ${refusal.reason}; the last good one is served`, refusal.since);
  if (unconfirmed) return fact(false, 'its restored targets wait for the controller to confirm them', table.ownedSince);
  return fact(true, 'served', since);
}

const fact = (holds: boolean, reason: string, since: number): Fact => ({ holds, reason, since: new Date(since).toISOString() });
