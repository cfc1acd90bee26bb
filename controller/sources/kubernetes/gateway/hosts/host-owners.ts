import { isOlder, isOlderForeign, type Meta, oldestOf, type WithMeta } from '../../objects/meta.ts';
import type { BoundListener } from '../listeners.ts';
import type { HostPlace, HostRules, RuleMatch } from './host-rules.ts';
import type { Hostname } from './hostnames.ts';

/**
 * The oldest object of another kind that names a host. `https`: by namespace of all that do, whether one has a setting for HTTPS for it.
 * `covering`: those with certificates for more hosts, which are presented for this one if it has none of its own.
 */
export type OtherOwner = { readonly meta: Meta; readonly https: ReadonlyMap<string, boolean>; readonly covering: readonly Meta[] };

export type IsOwn = (bound: BoundListener) => boolean;

/** Whom a host belongs to, and so which of its listeners decide about its clients and its certificate. */
export type HostOwner = {
  readonly other: OtherOwner | undefined;
  /** Whether it belongs to an object of another kind, because that is older than every listener and route of Gateways that names it. */
  readonly isOfOther: boolean;
  /** The listeners of the owner, and those to which it has attached the routes by which it has the host. */
  readonly isOwn: IsOwn;
  /** Also the other listeners of namespaces that have such ones. */
  readonly isBeside: IsOwn;
  /** Those that may require certificates of its clients. */
  readonly isRequiring: IsOwn;
  /** Those that decide about that for paths of objects of other kinds. */
  readonly isDeciding: IsOwn;
  /** The listeners of the namespace of its oldest route, and those to which that has attached routes that name it; null if none is accepted. */
  readonly isOfRoute: IsOwn | null;
  /** The namespaces of the owner. */
  readonly owning: ReadonlySet<string>;
  /** The namespaces of the owner, and of routes that named the host before any object of another kind. */
  readonly namespaces: ReadonlySet<string>;
  /** Whether these also have objects of other kinds for the host, although the oldest one may be of another namespace. */
  readonly hasOthers: boolean;
  /** Whether one of these has a setting for HTTPS. */
  readonly hasHttps: boolean;
};

/**
 * `named` are the places where the host is served, and `covered` also those where only what is over it is served: at all of them, it has the
 * same certificate.
 */
export function hostOwner(
  name: Hostname,
  rules: HostRules,
  other: OtherOwner | undefined,
  named: readonly HostPlace[],
  covered: readonly HostPlace[],
): HostOwner {
  const isOfOther = other !== undefined && isOlderThanAll(other.meta, name, named);
  const deciding = other === undefined || isOfOther ? covered : withoutLate(name, other, covered);
  const ofRoute = oldestMatch(deciding)?.route.meta.namespace;
  const isOfRoute = ofRoute === undefined ? null : listenersOf(ofRoute, name, rules, covered);
  const owner = isOfOther ? ownedByOther(other.meta, name, rules, named) : ownedByGateways(name, rules, named, deciding);
  const https = [...owner.namespaces].flatMap((namespace) => other?.https.get(namespace) ?? []);
  const namespaces = new Set([...owner.namespaces, ...namingBefore(other, named)]);
  return { ...owner, owning: owner.namespaces, namespaces, other, isOfRoute, hasOthers: https.length > 0, hasHttps: https.includes(true) };
}

/** The namespaces of routes that named a host before any object of another kind: they are not late with listeners of their own. */
function namingBefore(other: OtherOwner | undefined, places: readonly HostPlace[]): string[] {
  if (other === undefined) return [];
  const naming = places.flatMap(({ list }) => list.filter(({ rank, isRefused }) => rank === 0 && !isRefused));
  return naming.filter(({ route }) => isOlder(route, other)).map(({ route }) => route.meta.namespace);
}

/** Whether the oldest object of another kind is older than every listener and route of Gateways that names the host. */
function isOlderThanAll(other: Meta, name: Hostname, places: readonly HostPlace[]): boolean {
  const isYounger = (one: WithMeta): boolean => isOlder({ meta: other }, one);
  return places.every(
    ({ listeners, list }) =>
      listeners.every(({ listener, owner }) => listener.hostname !== name || isYounger(owner)) &&
      list.every(({ rank, route, isRefused }) => rank > 0 || isRefused || isYounger(route)),
  );
}

function ownedByOther(other: Meta, name: Hostname, rules: HostRules, places: readonly HostPlace[]) {
  const { namespace } = other;
  // Of its owner, only listeners and routes that name the host require certificates: otherwise others could turn that on by naming it.
  const isNaming = namingListenersOf(namespace, name, rules, places);
  const isOwn = listenersOf(namespace, name, rules, places);
  return { isOfOther: true, isOwn, isBeside: isOwn, isRequiring: isNaming, isDeciding: isNaming, namespaces: new Set([namespace]) };
}

function ownedByGateways(name: Hostname, rules: HostRules, named: readonly HostPlace[], deciding: readonly HostPlace[]) {
  const isOwn = ownListeners(name, rules, deciding);
  const isBeside = besideOwn(deciding, isOwn);
  // Listeners of others that are more specific turn nothing off, nor do routes of others at one of the owner's listeners.
  const ofRoute = oldestMatch(deciding)?.route.meta.namespace;
  const isOwnRoute = deciding.some(({ listeners }) => listeners.some((one) => isOwn(one) && namespaceOf(one) === ofRoute));
  const namespaces = new Set(named.flatMap(({ listeners }) => listeners.filter(isOwn).map(namespaceOf)));
  return { isOfOther: false, isOwn, isBeside, isRequiring: isOwn, isDeciding: isOwnRoute ? isOwn : isBeside, namespaces };
}

/** Without the routes that are younger than the other objects, and of other namespaces than these and the listeners for the host before. */
function withoutLate(name: Hostname, other: OtherOwner, places: readonly HostPlace[]): HostPlace[] {
  const naming = places.flatMap(({ listeners }) => listeners).filter(({ listener }) => listener.hostname === name);
  const namespaces = new Set(naming.filter(({ owner }) => isOlder(owner, other)).map(namespaceOf));
  return places.map((one) => ({ ...one, list: one.list.filter(({ route }) => !isLate({ other, namespaces }, route)) }));
}

/** The listeners of a namespace, and those to which it has attached routes that name a host. */
function listenersOf(namespace: string, name: Hostname, rules: HostRules, places: readonly HostPlace[]): IsOwn {
  const isNaming = namingListenersOf(namespace, name, rules, places);
  return (bound) => namespaceOf(bound) === namespace || isNaming(bound);
}

/** The listeners of a namespace that are for exactly a host, and those to which it has attached routes that name the host. */
function namingListenersOf(namespace: string, name: Hostname, rules: HostRules, places: readonly HostPlace[]): IsOwn {
  const routes = new Set(places.flatMap(({ list }) => list.flatMap(({ rank, route }) => (rank === 0 ? [route] : []))));
  const own = [...routes].filter(({ meta }) => meta.namespace === namespace).map((route) => rules.listenersOf(route, name));
  return (bound) => (namespaceOf(bound) === namespace && bound.listener.hostname === name) || own.some((listeners) => listeners.has(bound));
}

const namespaceOf = ({ owner }: BoundListener): string => owner.meta.namespace;

/** Those of a namespace that has own ones: the oldest route of a host may be attached to one of several only, such as the one for HTTP. */
function besideOwn(places: readonly HostPlace[], isOwn: IsOwn): IsOwn {
  const namespaces = new Set(places.flatMap(({ listeners }) => listeners.filter(isOwn).map(namespaceOf)));
  return (bound) => namespaces.has(namespaceOf(bound));
}

/**
 * Those of the oldest route that is accepted. If a listener of another namespace is for exactly this host, and older than the route and its
 * listeners, the host belongs to that namespace: on other ports, anyone may name it. Without a route, it belongs to that of the oldest
 * listener.
 */
export function ownListeners(name: Hostname, rules: HostRules, places: readonly HostPlace[]): IsOwn {
  const oldest = oldestMatch(places);
  const all = places.flatMap(({ listeners }) => listeners);
  const named = oldestOf(all.filter(({ listener }) => listener.hostname === name).map(({ owner }) => owner));
  if (oldest === undefined) {
    const first = named ?? oldestOf(all.map(({ owner }) => owner));
    return (bound) => namespaceOf(bound) === first?.meta.namespace;
  }
  const isOwn = listenersOfRoute(name, rules, oldest);
  const own = all.filter(isOwn).map(({ owner }) => owner);
  if (named === undefined) return isOwn;
  // Anyone may attach a route for a wildcard to a Gateway for all namespaces, so one of others must have been there before too.
  const { meta } = oldest.route;
  const isForeignLater = oldest.rank > 0 && !isOlder(oldest.route, named) && !own.some((one) => one.meta.namespace === meta.namespace);
  const rivals = oldest.rank === 0 ? [...own, oldest.route] : own;
  if (!isForeignLater && rivals.some((one) => isOlder(one, named))) return isOwn;
  const { namespace } = named.meta;
  const isRouteOfNamespace = oldest.rank === 0 && own.some((one) => one.meta.namespace === namespace);
  return isRouteOfNamespace ? isOwn : (bound) => namespaceOf(bound) === namespace;
}

function listenersOfRoute(name: Hostname, rules: HostRules, { route }: RuleMatch): IsOwn {
  const listeners = rules.listenersOf(route, name);
  return (bound) => listeners.has(bound);
}

/** That of the oldest of the most specific routes that are accepted. */
function oldestMatch(places: readonly HostPlace[]): RuleMatch | undefined {
  let oldest: RuleMatch | undefined;
  for (const { list } of places)
    for (const one of list)
      if (
        !one.isRefused &&
        (oldest === undefined || one.rank < oldest.rank || (one.rank === oldest.rank && isOlder(one.route, oldest.route)))
      )
        oldest = one;
  return oldest;
}

/**
 * Whether an object is younger than those of other kinds with paths of a host, and belongs neither to the namespace of the oldest one nor
 * to its owners. Those paths are served at every place, so it decides nothing about their clients.
 */
export const isLate = ({ other, namespaces }: Pick<HostOwner, 'other' | 'namespaces'>, one: WithMeta): boolean =>
  other !== undefined && isOlderForeign(other, one) && !namespaces.has(one.meta.namespace);
