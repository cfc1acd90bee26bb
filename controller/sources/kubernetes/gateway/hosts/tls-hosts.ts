import { MAX_PORTS, MAX_TARGETS } from '../../../../../shared/limits.ts';
import type { RouteInput } from '../../../../../shared/route.ts';
import { byAge, isOlder, isOlderForeign, nameOf, oldestOf } from '../../objects/meta.ts';
import type { TlsRoute } from '../../objects/tls-route.ts';
import type { Attachment } from '../attachments.ts';
import type { BoundListener } from '../listeners.ts';
import { mapPort, type PortMap } from '../port-map.ts';
import type { RouteBackends } from '../rules/route-backends.ts';
import type { ListenAddress, NamingObject } from './host-rules.ts';
import { coveringNames, type Hostname } from './hostnames.ts';
import type { LostHost } from './lost-hosts.ts';

export type HostPassthroughs = NonNullable<RouteInput['tls_passthrough']>;
type Upstreams = NonNullable<HostPassthroughs[number]['upstreams']>;

export type EndingAt = (name: Hostname, place: ListenAddress) => readonly NamingObject[];

export type TlsHosts = {
  readonly passthroughs: ReadonlyMap<Hostname, HostPassthroughs>;
  /** The listeners that pass on the connections for a host, or close them. */
  readonly serving: ReadonlySet<BoundListener>;
  /** The hosts of listeners that others have: those that pass connections on, and those that end TLS. */
  readonly lost: readonly LostHost[];
};

/** A listener that passes connections on, with the routes of each of its hosts, the oldest first. */
type Passing = { readonly bound: BoundListener; readonly routes: ReadonlyMap<Hostname, readonly TlsRoute[]> };

/** Those of a place, of which the oldest Gateways come first. */
type PassingPlace = {
  readonly key: string;
  /** Where one of them is. */
  readonly place: ListenAddress;
  readonly byHost: ReadonlyMap<Hostname, readonly Passing[]>;
  /** By the hosts that routes name there. */
  readonly naming: ReadonlyMap<Hostname, readonly Passing[]>;
  /** Their hosts in their Gateways, by `keyIn`. */
  readonly hostsIn: ReadonlySet<string>;
};

/**
 * Where connections are passed on to, by the name that their clients request. A listener does not share its hosts: if no route has one, its
 * connections are closed. The same applies to names that no listener has, at a place where all listeners pass connections on, unless an object
 * of another kind ends TLS for every host. `endingAt` returns the objects that name a host at a place in order to end TLS there: it belongs to
 * the oldest one, unless that is of the same namespace.
 */
export function tlsHosts(
  listeners: readonly BoundListener[],
  attachments: readonly Attachment<TlsRoute>[],
  map: PortMap,
  backends: RouteBackends,
  endingAt: EndingAt,
): TlsHosts {
  const served = listeners.filter(({ isServed }) => isServed);
  const passing = passingOf(
    served.filter(({ listener }) => listener.protocol === 'TLS'),
    attachments,
  );
  const https = served.filter(({ listener }) => listener.protocol === 'HTTPS');
  const ending = new Set(https.map((bound) => placeKey(bound, map)));
  const endingIn = new Set(https.map((bound) => keyIn(bound, bound.listener.hostname, map)));
  const places = [...Map.groupBy(passing, ({ bound }) => placeKey(bound, map))].map(([key, list]) => placeOfAll(key, list, map));
  const isClosed = places.some(({ key }) => !ending.has(key));
  const own = passing.flatMap(({ bound, routes }) => [bound.listener.hostname, ...routes.keys()]);
  const names = new Set<Hostname>(isClosed ? [...own, null] : own);
  const outcome = { serving: new Set<BoundListener>(), lost: [] as LostHost[] };
  const entries = [...names].map(
    (name) => [name, entriesFor(name, places, { ending, endingIn }, map, backends, endingAt, outcome)] as const,
  );
  const passthroughs = new Map(
    entries.filter(([, list]) => list.length > 0).map(([name, list]) => [name, joined(list).slice(0, MAX_PORTS)]),
  );
  return { passthroughs, ...outcome };
}

function passingOf(listeners: readonly BoundListener[], attachments: readonly Attachment<TlsRoute>[]): Passing[] {
  const found = new Map(listeners.map((bound) => [bound, new Map<Hostname, TlsRoute[]>()]));
  for (const { route, listeners: attached } of attachments)
    for (const { bound, hosts } of attached) {
      const routes = found.get(bound);
      for (const host of routes === undefined ? [] : hosts) {
        const known = routes?.get(host);
        if (known) known.push(route);
        else routes?.set(host, [route]);
      }
    }
  for (const routes of found.values()) for (const list of routes.values()) list.sort(byAge);
  return [...found].map(([bound, routes]) => ({ bound, routes }));
}

function placeOfAll(key: string, list: readonly Passing[], map: PortMap): PassingPlace {
  const [first] = list;
  const naming = new Map<Hostname, Passing[]>();
  for (const one of list)
    for (const name of one.routes.keys()) {
      const known = naming.get(name);
      if (known) known.push(one);
      else naming.set(name, [one]);
    }
  return {
    key,
    place: { address: first?.bound.address ?? null, port: first?.bound.listener.port ?? 0 },
    byHost: Map.groupBy(list, ({ bound }) => bound.listener.hostname),
    naming,
    hostsIn: new Set(list.map(({ bound }) => keyIn(bound, bound.listener.hostname, map))),
  };
}

/** Joins entries with the same targets, because a route has room for few: those of one address, and then those of the same ports. */
function joined(entries: HostPassthroughs): HostPassthroughs {
  const byAddress = Map.groupBy(entries, ({ upstreams, local_ips }) => JSON.stringify([upstreams, local_ips]));
  const ofAddresses = [...byAddress.values()].flatMap(([first, ...others]) =>
    first ? [{ ...first, ports: [...new Set([first, ...others].flatMap(({ ports }) => ports ?? []))].sort((a, b) => a - b) }] : [],
  );
  const byPorts = Map.groupBy(ofAddresses, ({ upstreams, ports, local_ips }) =>
    JSON.stringify([upstreams, ports, local_ips === undefined]),
  );
  return [...byPorts.values()].flatMap(([first, ...others]) =>
    first?.local_ips ? [{ ...first, local_ips: [first, ...others].flatMap(({ local_ips }) => local_ips ?? []) }] : (first ?? []),
  );
}

/** Connections to ports that are mapped to the same one can't be told apart. */
const placeKey = ({ address, listener }: BoundListener, map: PortMap): string => `${mapPort(map, listener.port)} ${address ?? ''}`;
/** Of a host at the place of a listener in its Gateway. */
const keyIn = (bound: BoundListener, name: Hostname, map: PortMap): string =>
  `${placeKey(bound, map)} ${bound.gateway.meta.uid} ${name ?? '*'}`;

/** The places of listeners that end TLS, and their hosts there, by `placeKey` and `keyIn`. */
type Ending = { readonly ending: ReadonlySet<string>; readonly endingIn: ReadonlySet<string> };

/**
 * Whether a listener has a host that a route there names, although there is a more specific one of another Gateway: if the route is earlier,
 * and of another namespace.
 */
function keeps({ bound, routes }: Passing, name: Hostname, { bound: { gateway, owner } }: Passing): boolean {
  const { namespace } = owner.meta;
  if (gateway === bound.gateway || namespace === bound.owner.meta.namespace) return false;
  return routes.get(name)?.some((route) => isOlderForeign(route, owner)) === true;
}

/** Of the names that cover a host, the most specific one first, those that are more specific than a listener. */
const moreSpecific = ({ listener }: BoundListener, names: readonly Hostname[]): readonly Hostname[] =>
  names.slice(0, names.indexOf(listener.hostname));

/** Whether its Gateway has a more specific listener for a host among those with these keys. */
const isIsolated = ({ bound }: Passing, names: readonly Hostname[], keys: ReadonlySet<string>, map: PortMap): boolean =>
  moreSpecific(bound, names).some((name) => keys.has(keyIn(bound, name, map)));

/** The most specific listener of each place decides, and then the most specific of its routes, or the oldest of several. */
function entriesFor(
  name: Hostname,
  places: readonly PassingPlace[],
  { ending, endingIn }: Ending,
  map: PortMap,
  backends: RouteBackends,
  endingAt: EndingAt,
  { serving, lost }: { readonly serving: Set<BoundListener>; readonly lost: LostHost[] },
): HostPassthroughs {
  const names = coveringNames(name);
  return places.flatMap(({ key, place, byHost, naming, hostsIn }) => {
    const covering = names.find((one) => byHost.has(one));
    if (covering === undefined) {
      const isClosed = name === null && !ending.has(key) && endingAt(null, place).length === 0;
      return isClosed ? [entryAt(place, map, undefined, backends)] : [];
    }
    const most = byHost.get(covering) ?? [];
    const routed = naming.get(name) ?? [];
    const isEnded = (one: Passing): boolean => isIsolated(one, names, endingIn, map);
    const isKeeping = (one: Passing): boolean =>
      one.bound.listener.hostname !== covering && most.every((rival) => keeps(one, name, rival)) && !isIsolated(one, names, hostsIn, map);
    const having = [...most, ...routed.filter(isKeeping)];
    const here = having.filter((one) => !isEnded(one));
    for (const { bound } of having.filter(isEnded))
      lost.push({ bound, name, why: whyLost(name, bound, 'does not pass its connections on', 'a more specific listener that ends TLS') });
    const routes = names.map((one) => oldestOf(here.flatMap((listener) => listener.routes.get(one) ?? [])));
    const [route] = routes.filter((one) => one !== undefined);
    const [first] = here;
    // A route may name the host at another place only.
    const isNamed = here.some(({ bound, routes: named }) => bound.listener.hostname === name || named.has(name));
    if (first === undefined || !isNamed) return [];
    const others = endingAt(name, place);
    const all = routed.flatMap((one) => (isEnded(one) ? [] : (one.routes.get(name) ?? [])));
    const isEndedHere = names.some((one) => endingIn.has(keyIn(first.bound, one, map)));
    const isLost = isOfOther(name, first.bound, route, all, others, isEndedHere);
    for (const { bound } of here) {
      if (!isLost) serving.add(bound);
      else lost.push({ bound, name, why: whyLost(name, bound, 'does not pass its connections on', 'an older object that ends TLS') });
    }
    if (isLost) return [];
    const by = `the listener ${first.bound.listener.name} of ${nameOf(first.bound.owner.meta)}, which passes connections on`;
    for (const { bound } of others) if (bound !== null) lost.push({ bound, name, why: whyLost(name, bound, 'does not serve it', by) });
    return [entryAt(place, map, route, backends)];
  });
}

/**
 * Whether the oldest object that names a host too is of another namespace, and older than those of the namespace that would pass its connections
 * on. `first` is the oldest of the listeners that have the host, and `all` are the routes that name it at the place, to any of its listeners.
 * `isEndedHere`: whether the Gateway of `first` also ends TLS there, for what is over the host.
 */
function isOfOther(
  name: Hostname,
  first: BoundListener,
  route: TlsRoute | undefined,
  all: readonly TlsRoute[],
  others: readonly NamingObject[],
  isEndedHere: boolean,
): boolean {
  const { namespace } = (route ?? first.owner).meta;
  // A route counts although a listener of its namespace has taken the host from it: those who move to a Gateway of their own keep their host.
  const naming = [...(first.listener.hostname === name ? [first.owner] : []), ...all.filter(({ meta }) => meta.namespace === namespace)];
  const oldest = oldestOf(others);
  // An object that also ends TLS for the host at another place, with its own certificate, takes nothing: there was no HTTPS before it.
  const isOwnHttps = !isEndedHere && naming.some(({ meta }) => meta.uid === oldest?.certifiedBy);
  const isForeign = oldest !== undefined && oldest.meta.namespace !== namespace && !isOwnHttps;
  return isForeign && naming.length > 0 && naming.every((one) => isOlder(oldest, one));
}

const whyLost = (name: Hostname, { listener }: BoundListener, what: string, owner: string): string =>
  `${name ?? '*'}: on port ${listener.port} it belongs to ${owner}, so the listener ${listener.name} ${what}`;

function entryAt(
  { address, port }: ListenAddress,
  map: PortMap,
  route: TlsRoute | undefined,
  backends: RouteBackends,
): HostPassthroughs[number] {
  return {
    ports: [mapPort(map, port)],
    ...(address !== null && { local_ips: [address] }),
    upstreams: route ? targetsOf(route, backends) : [],
  };
}

/** The proxy gives weights to targets, so the weight of a backend is divided among its targets. */
function targetsOf({ kind, meta, backends: refs }: TlsRoute, backends: RouteBackends): Upstreams {
  const groups = refs.flatMap((ref) => {
    const upstreams = backends.resolve({ kind, namespace: meta.namespace }, ref).pool?.upstreams ?? [];
    return ref.weight === 0 || upstreams.length === 0 ? [] : [{ upstreams, share: ref.weight / upstreams.length }];
  });
  const most = Math.max(...groups.map(({ share }) => share));
  const found = new Map<string, Upstreams[number]>();
  for (const { upstreams, share } of groups)
    for (const upstream of upstreams)
      if (!found.has(upstream.address))
        found.set(upstream.address, { ...upstream, weight: Math.max(1, Math.round((share / most) * 1_000)) });
  // With more, the route of the host would not be valid, which others share.
  return [...found.values()].slice(0, MAX_TARGETS);
}
