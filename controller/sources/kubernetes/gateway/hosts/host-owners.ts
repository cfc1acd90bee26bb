import { byAge, isOlder, isOlderForeign, type Meta, oldestOf, type WithMeta } from '../../objects/meta.ts';
import type { BoundListener } from '../listeners.ts';
import type { HostRules, RuleMatch } from './host-rules.ts';
import type { Hostname } from './hostnames.ts';

/**
 * The oldest object of another kind that names a host. `https`: by namespace of all that do, whether one has a setting for HTTPS for it.
 */
export type OtherOwner = { readonly meta: Meta; readonly https: ReadonlyMap<string, boolean> };

type Place = ReturnType<HostRules['placesOf']>[number];

/** Whether the oldest object of another kind is older than every listener and route of Gateways that names the host. */
export function isOlderThanAll(other: Meta, name: Hostname, places: readonly Place[], lists: readonly (readonly RuleMatch[])[]): boolean {
  const isYounger = (one: WithMeta): boolean => isOlder({ meta: other }, one);
  const naming = places.flatMap(({ listeners }) => listeners).filter(({ listener }) => listener.hostname === name);
  return (
    naming.every(({ owner }) => isYounger(owner)) &&
    lists.flat().every(({ rank, route, isRefused }) => rank > 0 || isRefused || isYounger(route))
  );
}

export type IsOwn = (bound: BoundListener) => boolean;

/**
 * Whether an object is younger than those of other kinds with paths of a host, and belongs neither to the namespace of the oldest one nor
 * to its owners. Those paths are served at every place, so it decides nothing about their clients.
 */
export const lateBeside =
  (other: OtherOwner | undefined, owners: ReadonlySet<string>) =>
  (one: WithMeta): boolean =>
    other !== undefined && isOlderForeign(other, one) && !owners.has(one.meta.namespace);

/** Whether a listener of a place, or a route that is accepted there, named a host before any object of another kind did. */
export function isNamedBefore(
  other: OtherOwner | undefined,
  name: Hostname,
  listeners: readonly BoundListener[],
  list: readonly RuleMatch[],
): boolean {
  if (other === undefined) return true;
  return (
    listeners.some(({ listener, owner }) => listener.hostname === name && isOlder(owner, other)) ||
    list.some(({ rank, route, isRefused }) => rank === 0 && !isRefused && isOlder(route, other))
  );
}

/** Those of an object's namespace, and those to which it has attached routes for the host. */
export function listenersOf(owner: Meta, name: Hostname, rules: HostRules, lists: readonly (readonly RuleMatch[])[]): IsOwn {
  const isNaming = namingListenersOf(owner, name, rules, lists);
  return (bound) => bound.owner.meta.namespace === owner.namespace || isNaming(bound);
}

/** The same for those of its namespace that are for exactly this host. */
export function namingListenersOf({ namespace }: Meta, name: Hostname, rules: HostRules, lists: readonly (readonly RuleMatch[])[]): IsOwn {
  const routes = new Set(lists.flatMap((list) => list.flatMap(({ rank, route }) => (rank === 0 ? [route] : []))));
  const own = [...routes].filter(({ meta }) => meta.namespace === namespace).map((route) => rules.listenersOf(route, name));
  return (bound) =>
    (bound.owner.meta.namespace === namespace && bound.listener.hostname === name) || own.some((listeners) => listeners.has(bound));
}

export const namespaceOf = ({ owner }: BoundListener): string => owner.meta.namespace;

/** The listeners at a place of the owner of the host there; those of the oldest Gateway if no route there is accepted. */
export const ownersAt = (place: Place, name: Hostname, rules: HostRules, list: readonly RuleMatch[]): IsOwn => {
  const [oldest] = place.listeners;
  return list.every(({ isRefused }) => isRefused)
    ? (bound) => bound.gateway === oldest?.gateway
    : ownListeners(name, rules, [place], [list]);
};

/** Those of a namespace that has own ones: the oldest route of a host may be attached to one of several only, such as the one for HTTP. */
export function besideOwn(places: readonly Place[], isOwn: IsOwn): IsOwn {
  const namespaces = new Set(places.flatMap(({ listeners }) => listeners.filter(isOwn).map(({ owner }) => owner.meta.namespace)));
  return ({ owner }) => namespaces.has(owner.meta.namespace);
}

/**
 * Those of the oldest route that is accepted. If a listener of another namespace is for exactly this host, and older than the route and its
 * listeners, the host belongs to that namespace: on other ports, anyone may name it. Without a route, it belongs to that of the oldest
 * listener.
 */
export function ownListeners(name: Hostname, rules: HostRules, places: readonly Place[], lists: readonly (readonly RuleMatch[])[]): IsOwn {
  const oldest = oldestMatch(lists);
  const all = places.flatMap(({ listeners }) => listeners);
  const named = oldestOf(all.filter(({ listener }) => listener.hostname === name).map(({ owner }) => owner));
  if (oldest === undefined) {
    const first = named ?? oldestOf(all.map(({ owner }) => owner));
    return ({ owner }) => owner.meta.namespace === first?.meta.namespace;
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
  const isRouteOfNamespace = oldest.rank === 0 && own.some(({ meta }) => meta.namespace === namespace);
  return isRouteOfNamespace ? isOwn : ({ owner }) => owner.meta.namespace === namespace;
}

export function listenersOfRoute(name: Hostname, rules: HostRules, { route }: RuleMatch): IsOwn {
  const listeners = rules.listenersOf(route, name);
  return (bound) => listeners.has(bound);
}

/** That of the oldest of the most specific routes that are accepted. */
export function oldestMatch(lists: readonly (readonly RuleMatch[])[]): RuleMatch | undefined {
  let oldest: RuleMatch | undefined;
  for (const list of lists)
    for (const one of list)
      if (!one.isRefused && (oldest === undefined || (one.rank - oldest.rank || byAge(one.route, oldest.route)) < 0)) oldest = one;
  return oldest;
}
