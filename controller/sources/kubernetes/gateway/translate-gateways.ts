import type { DefaultPlace } from '../../../../shared/certificates/default-certificate.ts';
import { GATEWAY_CONTROLLER } from '../../../../shared/name.ts';
import type { Globals } from '../../../../shared/settings.ts';
import type { Backends } from '../backends/backends.ts';
import { byAge, type Meta } from '../objects/meta.ts';
import type { Service } from '../objects/service.ts';
import type { DesiredStatus } from '../status/desired-status.ts';
import { BackendPolicies } from './backend-policies.ts';
import { type BoundGateway, bindGateways } from './bound-gateways.ts';
import type { GatewaySnapshot } from './gateway-snapshot.ts';
import { Grants } from './grants.ts';
import type { OtherOwner } from './hosts/host-owners.ts';
import { type ServedHosts, servedHosts } from './hosts/served-hosts.ts';
import { type JudgedRoute, judgeRoutes } from './judged-routes.ts';
import type { BoundListener } from './listeners.ts';
import { mapPort, type PortMap } from './port-map.ts';
import { portSettings } from './port-settings.ts';
import { RouteBackends } from './rules/route-backends.ts';
import { gatewayStatuses, statusesWithoutClass } from './status/gateway-statuses.ts';

export type GatewayTranslation = Pick<ServedHosts, 'hosts' | 'passthroughs' | 'lost'> & {
  readonly gateways: readonly Pick<BoundGateway, 'gateway' | 'listeners'>[];
  readonly routes: readonly JudgedRoute[];
  readonly statuses: readonly DesiredStatus[];
  /** The ports of the data plane that listeners need; null if this controller serves no Gateway. */
  readonly settings: Globals | null;
  /** The Secrets of listeners without a host, which are presented for any name, and the objects that define these. */
  readonly defaults: readonly { readonly secret: string; readonly place: DefaultPlace; readonly meta: Meta }[];
};

const NOTHING: GatewayTranslation = {
  hosts: new Map(),
  passthroughs: new Map(),
  gateways: [],
  lost: [],
  routes: [],
  statuses: [],
  defaults: [],
  settings: null,
};

/**
 * Translates the objects of the Gateway API to hosts with their blocks, and to a status for each object. `othersBeside`: the oldest object
 * of another kind that names a host, by domain. `named`: the hosts that objects of other kinds name, accepted or not.
 */
export function translateGateways(
  snapshot: GatewaySnapshot & { readonly services: ReadonlyMap<string, Service> },
  backends: Backends,
  map: PortMap,
  othersBeside: (listeners: readonly BoundListener[]) => ReadonlyMap<string, OtherOwner>,
  named: ReadonlySet<string>,
): GatewayTranslation {
  const classes = [...snapshot.gatewayClasses.values()].filter(({ controller }) => controller === GATEWAY_CONTROLLER);
  if (classes.length === 0) return { ...NOTHING, statuses: statusesWithoutClass(snapshot) };
  const grants = new Grants(snapshot.grants);
  const gateways = bindGateways(new Set(classes.map(({ meta }) => meta.name)), snapshot, grants, map);
  const listeners = gateways.flatMap((one) => one.listeners);
  const policies = new BackendPolicies(snapshot, grants);
  const targets = new RouteBackends(backends, snapshot.services, policies, grants);
  const routes = judgeRoutes(snapshot, gateways, targets);
  const others = { owners: othersBeside(listeners), named };
  const { hosts, passthroughs, lost, shared } = servedHosts(gateways, routes, targets, map, others);
  return {
    hosts,
    passthroughs,
    gateways,
    lost,
    routes: [...routes.http, ...routes.tls],
    statuses: gatewayStatuses(classes, snapshot, gateways, routes, policies, shared),
    defaults: defaultsOf(listeners, map),
    settings: portSettings(listeners, map),
  };
}

/** The oldest first, of which the first one is presented at a place: that of a ListenerSet may be younger than those of other Gateways. */
const defaultsOf = (listeners: readonly BoundListener[], map: PortMap) =>
  listeners
    .flatMap(({ isServed, owner, listener, address, secrets: [secret] }) =>
      isServed && listener.hostname === null && secret !== undefined
        ? [{ secret, place: { address, port: mapPort(map, listener.port) }, meta: owner.meta }]
        : [],
    )
    .sort(byAge);
