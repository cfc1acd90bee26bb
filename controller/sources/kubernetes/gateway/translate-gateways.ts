import type { DefaultPlace } from '../../../../shared/certificates/default-certificate.ts';
import { GATEWAY_CONTROLLER } from '../../../../shared/name.ts';
import type { Globals } from '../../../../shared/settings.ts';
import type { Gateway, ListenerSet } from '../objects/gateway.ts';
import type { AnyRoute, HttpRoute } from '../objects/http-route.ts';
import { byAge, type Meta, nameOf } from '../objects/meta.ts';
import { GATEWAY_GROUP } from '../objects/object-ref.ts';
import type { Service } from '../objects/service.ts';
import type { TlsRoute } from '../objects/tls-route.ts';
import type { Backends } from '../routes/backends.ts';
import type { DesiredStatus } from '../status/desired-status.ts';
import { type Attachment, attach, parentKey } from './attachments.ts';
import { BackendPolicies } from './backend-policies.ts';
import { assignAddresses, type OwnAddress } from './gateway-addresses.ts';
import type { GatewaySnapshot } from './gateway-snapshot.ts';
import { Grants } from './grants.ts';
import { type GatewayHost, gatewayHost, type OtherOwner } from './hosts/gateway-hosts.ts';
import { HostRules } from './hosts/host-rules.ts';
import { coveringNames, domainOf } from './hosts/hostnames.ts';
import { conflictsOf, type LostHost, lostByCertificates, type SharedHosts, unpresentedAt } from './hosts/lost-hosts.ts';
import { type HostPassthroughs, tlsHosts } from './hosts/tls-hosts.ts';
import { tlsOverlaps } from './hosts/tls-overlaps.ts';
import { allowsNamespace, type BoundListener, bindListeners } from './listeners.ts';
import { mapPort, type PortMap } from './port-map.ts';
import { portSettings, withRoomForPorts } from './port-settings.ts';
import { RouteBackends } from './rules/route-backends.ts';
import { type AttachedCounts, classStatus, gatewayStatus, listenerSetStatus, policyStatus } from './status/gateway-status.ts';
import { orphanSetStatus, orphanStatus } from './status/orphan-status.ts';
import { routeStatus, withdrawnStatus } from './status/route-status.ts';
import { judgeHttpRoute, judgeTlsRoute, type RouteVerdicts } from './status/route-verdicts.ts';

/** A route of the Gateway API with its verdicts. */
export type JudgedRoute = { readonly route: AnyRoute; readonly attachments: readonly Attachment[]; readonly verdicts: RouteVerdicts };

export type GatewayTranslation = {
  /** By domain. */
  readonly hosts: ReadonlyMap<string, GatewayHost>;
  /** Where TLS connections are passed on to, by domain. */
  readonly passthroughs: ReadonlyMap<string, HostPassthroughs>;
  readonly gateways: readonly { readonly gateway: Gateway; readonly listeners: readonly BoundListener[] }[];
  /** The hosts of listeners that others have. */
  readonly lost: readonly LostHost[];
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
 * Translates the objects of the Gateway API to hosts with their blocks, and to a status for each object. `others`: the oldest object of another
 * kind that names a host, by domain. `shared`: the hosts that objects of other kinds name, accepted or not.
 */
export function translateGateways(
  snapshot: GatewaySnapshot & { readonly services: ReadonlyMap<string, Service> },
  backends: Backends,
  map: PortMap,
  othersBeside: (listeners: readonly BoundListener[]) => ReadonlyMap<string, OtherOwner>,
  shared: ReadonlySet<string>,
): GatewayTranslation {
  const classes = [...snapshot.gatewayClasses.values()].filter(({ controller }) => controller === GATEWAY_CONTROLLER);
  const grants = new Grants(snapshot.grants);
  if (classes.length === 0) return { ...NOTHING, statuses: [...withdrawn(snapshot, grants), ...orphans(snapshot)] };
  const names = new Set(classes.map(({ meta }) => meta.name));
  const gateways = [...snapshot.gateways.values()].filter(({ className }) => names.has(className)).sort(byAge);
  const addresses = assignAddresses(gateways, snapshot.addresses);
  const sets = Map.groupBy(snapshot.listenerSets.values(), gatewayOf);
  const bound = withRoomForPorts(
    gateways.map((gateway) => {
      const wanting = sets.get(nameOf(gateway.meta)) ?? [];
      return bindGateway(gateway, addresses.get(gateway) ?? { kind: 'none' }, wanting, snapshot, grants);
    }),
    map,
  );
  const others = othersBeside(bound.flatMap(({ listeners }) => listeners));
  const parents = new Map(bound.flatMap((one) => parentsOfGateway(one)));

  const policies = new BackendPolicies(snapshot, grants);
  const targets = new RouteBackends(backends, snapshot.services, policies, grants);
  const judge = <Route extends AnyRoute>(route: Route, verdicts: RouteVerdicts) => ({
    route,
    verdicts,
    attachments: attach(route, parents, snapshot.namespaces),
  });
  const http = [...snapshot.httpRoutes.values(), ...snapshot.grpcRoutes.values()]
    .sort(byAge)
    .map((route) => judge<HttpRoute>(route, judgeHttpRoute(route, targets)));
  const tls = [...snapshot.tlsRoutes.values()].sort(byAge).map((route) => judge<TlsRoute>(route, judgeTlsRoute(route, targets)));

  const accepted = [...http, ...tls].filter(({ verdicts }) => verdicts.invalid === null);
  const attached = countRoutes(accepted);
  // Those that are not accepted answer with 500: their requests must not get to less specific routes, without their filters.
  const served = http.filter(({ verdicts }) => !verdicts.matchesNothing).flatMap(({ attachments }) => attachments);
  const refused = new Set(http.flatMap(({ route, verdicts }) => (verdicts.invalid === null ? [] : [route])));
  const rules = new HostRules(
    bound.flatMap(({ listeners }) => listeners),
    served,
    map,
    refused,
  );
  const passed = tls.filter(({ verdicts }) => verdicts.invalid === null).flatMap(({ attachments }) => attachments);
  const byHost = tlsHosts(
    bound.flatMap(({ listeners }) => listeners),
    passed,
    map,
    targets,
    (name, place) => {
      const other = others.get(domainOf(name));
      if (other === undefined) return rules.namingHttps(name, place);
      // Without a setting for HTTPS, it has that by listeners for HTTPS, with their certificates, since these are there.
      const over =
        other.https.get(other.meta.namespace) || rules.hasHttpsOf(other.meta.namespace, name, place)
          ? other.meta
          : rules.httpsOver(name, place);
      const createdAt = over === undefined || over.createdAt < other.meta.createdAt ? other.meta.createdAt : over.createdAt;
      return [...(over ? [{ meta: { ...other.meta, createdAt }, bound: null }] : []), ...rules.namingHttps(name, place)];
    },
  );
  const lostByName = Map.groupBy(byHost.lost, ({ name }) => name);
  const hosts = new Map(
    rules.names().flatMap((name): [string, GatewayHost][] => {
      const domain: string = domainOf(name);
      const isBelowShared = coveringNames(name).some((over) => over !== name && shared.has(domainOf(over)));
      const lostBy = new Set(lostByName.get(name)?.map(({ bound }) => bound));
      const host = gatewayHost(name, rules, map, targets, others.get(domain), { isShared: shared.has(domain), isBelowShared, lostBy });
      return host === null ? [] : [[domain, host]];
    }),
  );
  const passthroughs = new Map([...byHost.passthroughs].map(([name, entries]) => [domainOf(name) as string, entries]));
  const lost = [...lostByCertificates(hosts.values()), ...byHost.lost];
  const passedOn = Map.groupBy(byHost.lost, ({ bound }) => bound);
  const serving = [...hosts.values()].flatMap(({ name, listeners }) =>
    listeners.filter((bound) => !passedOn.get(bound)?.some((one) => one.name === name)),
  );
  const overlaps = new Map([...bound.flatMap(({ listeners }) => [...tlsOverlaps(listeners)]), ...unpresentedAt(hosts.values())]);
  const told = { conflicts: conflictsOf(lost, new Set([...serving, ...byHost.serving])), overlaps };

  const users = policies.judged.length === 0 ? new Map<string, Set<Gateway>>() : usersOfServices(http);
  const statuses = [
    ...classes.map(classStatus),
    ...bound.map(({ gateway, address, listeners, sets: own }) =>
      gatewayStatus(gateway, address, listeners, attached, attachedSets(listeners, own), told),
    ),
    ...bound.flatMap((one) => statusesOfSets(one, attached, told)),
    ...orphans(snapshot),
    ...[...http, ...tls].map(({ route, attachments, verdicts }) => routeStatus(route, attachments, verdicts)),
    ...policies.judged.map((judged) => policyStatus(judged, gatewaysUsing(judged.policy, users))),
  ];
  const defaults = bound.flatMap(({ listeners }) => defaultsOf(listeners, map));
  return {
    hosts,
    passthroughs,
    gateways: bound,
    lost,
    routes: [...http, ...tls],
    statuses,
    defaults,
    settings: portSettings(
      bound.flatMap(({ listeners }) => listeners),
      map,
    ),
  };
}

/** What this controller said about routes and policies while there was a class of its own is no longer true. */
const withdrawn = (snapshot: GatewaySnapshot, grants: Grants): DesiredStatus[] => [
  ...[snapshot.httpRoutes, snapshot.grpcRoutes, snapshot.tlsRoutes].flatMap((routes) => [...routes.values()].map(withdrawnStatus)),
  ...new BackendPolicies(snapshot, grants).judged.map((judged) => policyStatus(judged, [])),
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

const defaultsOf = (listeners: readonly BoundListener[], map: PortMap) =>
  listeners.flatMap(({ isServed, owner, listener, address, secrets: [secret] }) =>
    isServed && listener.hostname === null && secret !== undefined
      ? [{ secret, place: { address, port: mapPort(map, listener.port) }, meta: owner.meta }]
      : [],
  );

type BoundGateway = {
  readonly gateway: Gateway;
  readonly address: OwnAddress;
  readonly listeners: readonly BoundListener[];
  readonly sets: readonly ListenerSet[];
  /** ListenerSets that the Gateway does not allow. */
  readonly refusedSets: readonly ListenerSet[];
};

/** The name of the Gateway that a ListenerSet is for; null if it is for something else. */
const gatewayOf = ({ parent, meta }: ListenerSet): string | null =>
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
const byOwner = (listeners: readonly BoundListener[]): ReadonlyMap<string, readonly BoundListener[]> =>
  Map.groupBy(listeners, ({ owner }) => owner.meta.uid);

/** Routes refer to a Gateway or a ListenerSet, and attach to the listeners defined there. */
function parentsOfGateway({ gateway, listeners, sets, refusedSets }: BoundGateway) {
  const defined = byOwner(listeners);
  const of = (kind: string, { namespace, name, uid }: Gateway['meta']) =>
    [parentKey(kind, namespace, name), { gateway, listeners: defined.get(uid) ?? [] }] as const;
  return [of('Gateway', gateway.meta), ...[...sets, ...refusedSets].map(({ meta }) => of('ListenerSet', meta))];
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
function usersOfServices(routes: readonly (JudgedRoute & { readonly route: HttpRoute })[]): Users {
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
