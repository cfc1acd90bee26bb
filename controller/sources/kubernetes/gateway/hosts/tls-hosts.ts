import { MAX_PORTS } from '../../../../../shared/limits.ts';
import type { RouteInput } from '../../../../../shared/route.ts';
import { byAge, nameOf } from '../../objects/meta.ts';
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
type Passing = { readonly bound: BoundListener; readonly routes: Map<Hostname, TlsRoute[]> };

/**
 * Where connections are passed on to, by the name that their clients request. A listener does not share its hosts: if no route has one, its
 * connections are closed. The same applies to names that no listener has, at a place where all listeners pass connections on. `endingAt`
 * returns the objects that name a host at a place in order to end TLS there: it belongs to the oldest one, unless that is of the same namespace.
 */
export function tlsHosts(
  listeners: readonly BoundListener[],
  attachments: readonly Attachment<TlsRoute>[],
  map: PortMap,
  backends: RouteBackends,
  endingAt: EndingAt,
): TlsHosts {
  const passing = listeners
    .filter(({ isServed, listener }) => isServed && listener.protocol === 'TLS')
    .map((bound): Passing => ({ bound, routes: routesOf(bound, attachments) }));
  const https = listeners.filter(({ isServed, listener }) => isServed && listener.protocol === 'HTTPS');
  const ending = new Set(https.map(placeKey));
  const endingIn = new Set(https.map((bound) => keyIn(bound, bound.listener.hostname)));
  const isClosed = passing.some(({ bound }) => !ending.has(placeKey(bound)));
  const own = passing.flatMap(({ bound, routes }) => [bound.listener.hostname, ...routes.keys()]);
  const names = new Set<Hostname>(isClosed ? [...own, null] : own);
  const outcome = { serving: new Set<BoundListener>(), lost: [] as LostHost[] };
  const entries = [...names].map(
    (name) => [name, entriesFor(name, passing, { ending, endingIn }, map, backends, endingAt, outcome)] as const,
  );
  const passthroughs = new Map(
    entries.filter(([, list]) => list.length > 0).map(([name, list]) => [name, joined(list).slice(0, MAX_PORTS)]),
  );
  return { passthroughs, ...outcome };
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

const placeKey = ({ address, listener }: BoundListener): string => `${listener.port} ${address ?? ''}`;
/** Of a host at the place of a listener in its Gateway. */
const keyIn = (bound: BoundListener, name: Hostname): string => `${placeKey(bound)} ${bound.gateway.meta.uid} ${name ?? '*'}`;

/** The places of listeners that end TLS, and their hosts there, by `placeKey` and `keyIn`. */
type Ending = { readonly ending: ReadonlySet<string>; readonly endingIn: ReadonlySet<string> };

/**
 * Whether a listener has a host that a route there names, although there is a more specific one of another Gateway: if the route is earlier,
 * and of another namespace.
 */
function keeps({ bound, routes }: Passing, name: Hostname, { bound: { gateway, owner } }: Passing): boolean {
  const { namespace } = owner.meta;
  if (gateway === bound.gateway || namespace === bound.owner.meta.namespace) return false;
  return routes.get(name)?.some((route) => route.meta.namespace !== namespace && byAge(route, owner) < 0) === true;
}

/** Of the names that cover a host, the most specific one first, those that are more specific than a listener. */
const moreSpecific = ({ listener }: BoundListener, names: readonly Hostname[]): readonly Hostname[] =>
  names.slice(0, names.indexOf(listener.hostname));

/** Whether a more specific listener of its Gateway ends TLS for a host. */
const isIsolated = ({ bound }: Passing, names: readonly Hostname[], { endingIn }: Ending): boolean =>
  moreSpecific(bound, names).some((name) => endingIn.has(keyIn(bound, name)));

/** Whether one of those at its place passes the connections of the host on. */
function isNarrowed({ bound }: Passing, names: readonly Hostname[], here: readonly Passing[]): boolean {
  const more = moreSpecific(bound, names);
  return here.some((other) => other.bound.gateway === bound.gateway && more.includes(other.bound.listener.hostname));
}

function routesOf(bound: BoundListener, attachments: readonly Attachment<TlsRoute>[]): Map<Hostname, TlsRoute[]> {
  const routes = new Map<Hostname, TlsRoute[]>();
  for (const { route, listeners } of attachments)
    for (const place of listeners)
      if (place.bound === bound) for (const host of place.hosts) routes.set(host, [...(routes.get(host) ?? []), route].sort(byAge));
  return routes;
}

/** The most specific listener of each place decides, and then the most specific of its routes, or the oldest of several. */
function entriesFor(
  name: Hostname,
  passing: readonly Passing[],
  ending: Ending,
  map: PortMap,
  backends: RouteBackends,
  endingAt: EndingAt,
  { serving, lost }: { readonly serving: Set<BoundListener>; readonly lost: LostHost[] },
): HostPassthroughs {
  const names = coveringNames(name);
  const places = Map.groupBy(passing, ({ bound }) => placeKey(bound));
  // Those of the oldest Gateways come first.
  return [...places].flatMap(([key, list]) => {
    const [any] = list;
    const covering = names.find((one) => list.some(({ bound }) => bound.listener.hostname === one));
    if (covering === undefined)
      return name === null && any && !ending.ending.has(key) ? [entryAt(placeOf(any), map, undefined, backends)] : [];
    const most = list.filter(({ bound }) => bound.listener.hostname === covering);
    const isKeeping = (one: Passing): boolean =>
      one.routes.has(name) && most.every((rival) => keeps(one, name, rival)) && !isNarrowed(one, names, list);
    const having = [...most, ...list.filter((one) => one.bound.listener.hostname !== covering && isKeeping(one))];
    const here = having.filter((one) => !isIsolated(one, names, ending));
    for (const { bound } of having.filter((one) => isIsolated(one, names, ending)))
      lost.push({ bound, name, why: whyLost(name, bound, 'does not pass its connections on', 'a more specific listener that ends TLS') });
    const routes = names.map((one) => here.flatMap((listener) => listener.routes.get(one) ?? []).sort(byAge)[0]);
    const [route] = routes.filter((one) => one !== undefined);
    const [first] = here;
    // A route may name the host at another place only.
    const isNamed = here.some(({ bound, routes: named }) => bound.listener.hostname === name || named.has(name));
    if (first === undefined || !isNamed) return [];
    const others = endingAt(name, placeOf(first));
    const all = list.flatMap((one) => {
      const naming = one.routes.get(name);
      return naming === undefined || isIsolated(one, names, ending) ? [] : naming;
    });
    const isLost = isOfOther(name, first.bound, route, all, others);
    for (const { bound } of here) {
      if (!isLost) serving.add(bound);
      else lost.push({ bound, name, why: whyLost(name, bound, 'does not pass its connections on', 'an older object that ends TLS') });
    }
    if (isLost) return [];
    const by = `the listener ${first.bound.listener.name} of ${nameOf(first.bound.owner.meta)}, which passes connections on`;
    for (const { bound } of others) if (bound !== null) lost.push({ bound, name, why: whyLost(name, bound, 'does not serve it', by) });
    return [entryAt(placeOf(first), map, route, backends)];
  });
}

/**
 * Whether the oldest object that names a host too is of another namespace, and older than those of the namespace that would pass its connections
 * on. `first` is the oldest of the listeners that have the host, and `all` are the routes that name it at the place, to any of its listeners.
 */
function isOfOther(
  name: Hostname,
  first: BoundListener,
  route: TlsRoute | undefined,
  all: readonly TlsRoute[],
  others: readonly NamingObject[],
): boolean {
  const { namespace } = (route ?? first.owner).meta;
  // A route counts although a listener of its namespace has taken the host from it: those who move to a Gateway of their own keep their host.
  const naming = [...(first.listener.hostname === name ? [first.owner] : []), ...all.filter(({ meta }) => meta.namespace === namespace)];
  const [oldest] = [...others].sort(byAge);
  return oldest !== undefined && oldest.meta.namespace !== namespace && naming.length > 0 && naming.every((one) => byAge(oldest, one) < 0);
}

const whyLost = (name: Hostname, { listener }: BoundListener, what: string, owner: string): string =>
  `${name ?? '*'}: on port ${listener.port} it belongs to ${owner}, so the listener ${listener.name} ${what}`;

const placeOf = ({ bound }: Passing): ListenAddress => ({ address: bound.address, port: bound.listener.port });

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
  return [...found.values()];
}
