import type { Gateway, GatewayClass, ListenerSet } from '../../objects/gateway.ts';
import { nameOf } from '../../objects/meta.ts';
import type { DesiredStatus } from '../../status/desired-status.ts';
import { BackendPolicies } from '../backend-policies.ts';
import { type BoundGateway, byOwner, gatewayOf } from '../bound-gateways.ts';
import type { GatewaySnapshot } from '../gateway-snapshot.ts';
import { Grants } from '../grants.ts';
import type { SharedHosts } from '../hosts/lost-hosts.ts';
import { isAccepted, type JudgedRoute, type JudgedRoutes } from '../judged-routes.ts';
import type { BoundListener } from '../listeners.ts';
import { type AttachedCounts, classStatus, gatewayStatus, listenerSetStatus, policyStatus } from './gateway-status.ts';
import { orphanSetStatus, orphanStatus } from './orphan-status.ts';
import { routeStatus, withdrawnStatus } from './route-status.ts';

/** The statuses of all objects, while there is a class of this controller. */
export function gatewayStatuses(
  classes: readonly GatewayClass[],
  snapshot: GatewaySnapshot,
  gateways: readonly BoundGateway[],
  { http, tls }: JudgedRoutes,
  { judged }: BackendPolicies,
  shared: SharedHosts,
): DesiredStatus[] {
  const attached = countRoutes([...http, ...tls].filter(isAccepted));
  const users = judged.length === 0 ? new Map<string, Set<Gateway>>() : usersOfServices(http);
  return [
    ...classes.map(classStatus),
    ...gateways.map(({ gateway, address, listeners, sets }) =>
      gatewayStatus(gateway, address, listeners, attached, attachedSets(listeners, sets), shared),
    ),
    ...gateways.flatMap((one) => statusesOfSets(one, attached, shared)),
    ...orphans(snapshot),
    ...[...http, ...tls].map(({ route, attachments, verdicts }) => routeStatus(route, attachments, verdicts)),
    ...judged.map((one) => policyStatus(one, gatewaysUsing(one.policy, users))),
  ];
}

/** The statuses without a class of this controller. */
export const statusesWithoutClass = (snapshot: GatewaySnapshot): DesiredStatus[] => [...withdrawn(snapshot), ...orphans(snapshot)];

/** What this controller said about routes and policies while there was a class of its own is no longer true. */
const withdrawn = (snapshot: GatewaySnapshot): DesiredStatus[] => [
  ...[snapshot.httpRoutes, snapshot.grpcRoutes, snapshot.tlsRoutes].flatMap((routes) => [...routes.values()].map(withdrawnStatus)),
  ...new BackendPolicies(snapshot, new Grants(snapshot.grants)).judged.map((judged) => policyStatus(judged, [])),
];

/** Objects that no controller serves, because a class or a Gateway is gone. Those of other controllers are left to them. */
function orphans({ gatewayClasses, gateways, listenerSets }: GatewaySnapshot): DesiredStatus[] {
  const classes = new Set([...gatewayClasses.values()].map(({ meta }) => meta.name));
  const isOrphan = ({ className }: Gateway): boolean => !classes.has(className);
  const hasNoGateway = (set: ListenerSet): boolean => {
    const name = gatewayOf(set);
    const gateway = name === null ? undefined : gateways.get(name);
    return name !== null && (gateway === undefined || isOrphan(gateway));
  };
  return [
    ...[...gateways.values()].filter(isOrphan).map(orphanStatus),
    ...[...listenerSets.values()].filter(hasNoGateway).map(orphanSetStatus),
  ];
}

function attachedSets(listeners: readonly BoundListener[], sets: readonly ListenerSet[]): number {
  const served = byOwner(listeners.filter(({ isServed }) => isServed));
  return sets.filter(({ meta }) => served.has(meta.uid)).length;
}

/** The statuses of the ListenerSets of a Gateway. */
function statusesOfSets({ listeners, sets, refusedSets }: BoundGateway, attached: AttachedCounts, told: SharedHosts): DesiredStatus[] {
  const defined = byOwner(listeners);
  return [
    ...sets.map((set) => listenerSetStatus(set, defined.get(set.meta.uid) ?? [], attached, true, told)),
    ...refusedSets.map((set) => listenerSetStatus(set, [], attached, false, told)),
  ];
}

function countRoutes(routes: readonly JudgedRoute[]): Map<BoundListener, number> {
  const counts = new Map<BoundListener, number>();
  for (const { attachments } of routes)
    for (const bound of new Set(attachments.flatMap(({ listeners }) => listeners.map((place) => place.bound))))
      counts.set(bound, (counts.get(bound) ?? 0) + 1);
  return counts;
}

type Users = ReadonlyMap<string, ReadonlySet<Gateway>>;

/** The Gateways whose routes use a Service, by its `NAMESPACE/NAME`. */
function usersOfServices(routes: JudgedRoutes['http']): Users {
  const users = new Map<string, Set<Gateway>>();
  for (const { route, attachments } of routes) {
    const names = new Set(
      route.rules.flatMap(({ backends }) =>
        backends.map(({ ref }) => nameOf({ namespace: ref.namespace ?? route.meta.namespace, name: ref.name })),
      ),
    );
    for (const name of names) {
      const known = users.get(name) ?? new Set();
      for (const { gateway } of attachments) known.add(gateway);
      users.set(name, known);
    }
  }
  return users;
}

/** The Gateways whose routes use a Service to which a policy applies. */
const gatewaysUsing = ({ meta, targets }: Parameters<typeof policyStatus>[0]['policy'], users: Users): Gateway[] => [
  ...new Set(targets.flatMap(({ ref }) => [...(users.get(nameOf({ namespace: meta.namespace, name: ref.name })) ?? [])])),
];
