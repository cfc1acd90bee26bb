import type { Gateway, ListenerSet } from '../objects/gateway.ts';
import { byAge, nameOf } from '../objects/meta.ts';
import { GATEWAY_GROUP } from '../objects/object-ref.ts';
import { parentKey } from './attachments.ts';
import { assignAddresses, type OwnAddress } from './gateway-addresses.ts';
import type { GatewaySnapshot } from './gateway-snapshot.ts';
import type { Grants } from './grants.ts';
import { allowsNamespace, type BoundListener, bindListeners } from './listeners.ts';
import type { PortMap } from './port-map.ts';
import { withRoomForPorts } from './port-settings.ts';

/** A Gateway with the listeners that it and its ListenerSets define. */
export type BoundGateway = {
  readonly gateway: Gateway;
  readonly address: OwnAddress;
  readonly listeners: readonly BoundListener[];
  readonly sets: readonly ListenerSet[];
  /** ListenerSets that the Gateway does not allow. */
  readonly refusedSets: readonly ListenerSet[];
};

/** The Gateways of these classes, the oldest first. */
export function bindGateways(classes: ReadonlySet<string>, snapshot: GatewaySnapshot, grants: Grants, map: PortMap): BoundGateway[] {
  const gateways = [...snapshot.gateways.values()].filter(({ className }) => classes.has(className)).sort(byAge);
  const addresses = assignAddresses(gateways, snapshot.addresses);
  const sets = Map.groupBy(snapshot.listenerSets.values(), gatewayOf);
  const bound = gateways.map((gateway) => {
    const wanting = sets.get(nameOf(gateway.meta)) ?? [];
    return bindGateway(gateway, addresses.get(gateway) ?? { kind: 'none' }, wanting, snapshot, grants);
  });
  return withRoomForPorts(bound, map);
}

/** The name of the Gateway that a ListenerSet is for; null if it is for something else. */
export const gatewayOf = ({ parent, meta }: ListenerSet): string | null =>
  parent.group === GATEWAY_GROUP && parent.kind === 'Gateway'
    ? nameOf({ namespace: parent.namespace ?? meta.namespace, name: parent.name })
    : null;

function bindGateway(
  gateway: Gateway,
  address: OwnAddress,
  wanting: readonly ListenerSet[],
  snapshot: GatewaySnapshot,
  grants: Grants,
): BoundGateway {
  const { meta, allowedListeners } = gateway;
  const isAllowed = ({ meta: own }: ListenerSet) => allowsNamespace(allowedListeners, meta.namespace, own.namespace, snapshot.namespaces);
  const { sets = [], refusedSets = [] } = Object.groupBy(wanting, (set) => (isAllowed(set) ? 'sets' : 'refusedSets'));
  return { gateway, address, sets, refusedSets, listeners: bindListeners(gateway, address, sets, snapshot, grants) };
}

/** Those that an object defines, by its uid. */
export const byOwner = (listeners: readonly BoundListener[]): ReadonlyMap<string, readonly BoundListener[]> =>
  Map.groupBy(listeners, ({ owner }) => owner.meta.uid);

/** Routes refer to a Gateway or a ListenerSet, and attach to the listeners defined there. */
export function parentsOfGateway({ gateway, listeners, sets, refusedSets }: BoundGateway) {
  const defined = byOwner(listeners);
  const of = (kind: string, { namespace, name, uid }: Gateway['meta']) =>
    [parentKey(kind, namespace, name), { gateway, listeners: defined.get(uid) ?? [] }] as const;
  return [of('Gateway', gateway.meta), ...[...sets, ...refusedSets].map(({ meta }) => of('ListenerSet', meta))];
}
