import { GATEWAYS, type Gateway, LISTENER_SETS, type ListenerSet } from '../../objects/gateway.ts';
import { conditionsOf, type StatusCondition, type WantedCondition } from '../../status/conditions.ts';
import type { DesiredStatus } from '../../status/desired-status.ts';

const WAITING = 'Waiting for a controller: its GatewayClass does not exist';
const PENDING: readonly WantedCondition[] = ['Accepted', 'Programmed'].map((type) => ({
  ...{ type, status: 'Unknown', reason: 'Pending', message: WAITING },
}));
const LACKING = 'its Gateway, or the GatewayClass of that, does not exist';
const UNACCEPTED: readonly WantedCondition[] = ['Accepted', 'Programmed'].map((type) => ({
  ...{ type, status: 'False', reason: 'ParentNotAccepted', message: LACKING },
}));

const known = new WeakMap<Gateway | ListenerSet, DesiredStatus>();

/** By version of the object, so that an unchanged one is recognized. */
function remembered(
  object: Gateway | ListenerSet,
  resource: DesiredStatus['resource'],
  conditions: readonly WantedCondition[],
): DesiredStatus {
  const before = known.get(object);
  if (before !== undefined) return before;
  const { meta } = object;
  const status: DesiredStatus = {
    resource,
    meta,
    build: ({ current, isWritten, now }) => {
      if (!isWritten) return undefined;
      const before = current.conditions as readonly StatusCondition[] | undefined;
      const shown = { conditions: conditionsOf(before, conditions, { generation: meta.generation, now }), listeners: [] };
      // If the class returns, the Gateway has the same address again.
      return resource === GATEWAYS ? { ...shown, addresses: current.addresses ?? [] } : shown;
    },
  };
  known.set(object, status);
  return status;
}

/** The status of a Gateway whose class is gone: nobody serves it, although this controller may have said so before. */
export const orphanStatus = (gateway: Gateway): DesiredStatus => remembered(gateway, GATEWAYS, PENDING);

/** The same for a ListenerSet whose Gateway, or its class, is gone. */
export const orphanSetStatus = (set: ListenerSet): DesiredStatus => remembered(set, LISTENER_SETS, UNACCEPTED);
