import type { HttpRoute } from '../../objects/http-route.ts';
import type { BoundListener } from '../listeners.ts';
import { mapPort, type PortMap } from '../port-map.ts';
import type { RouteBackends } from '../rules/route-backends.ts';
import { type ClientRules, clientRules, requiredBy } from './client-rules.ts';
import type { HostBlock } from './host-block.ts';
import { blocksOfHost, type ServedPlace } from './host-blocks.ts';
import { hostOwner, type OtherOwner } from './host-owners.ts';
import type { HostRules } from './host-rules.ts';
import type { Hostname } from './hostnames.ts';
import { isPassedOver, namedAmong, type PassedAt } from './named-places.ts';
import { isNamedBefore, ownedPlace } from './owned-places.ts';
import { type HostCertificate, hostCertificate } from './presenting.ts';

/** How Gateways serve a host. */
export type GatewayHost = HostCertificate & {
  readonly name: Hostname;
  /** The ports of the data plane that it is served on. */
  readonly ports: readonly number[];
  readonly blocks: readonly HostBlock[];
  /** The routes for which the host has no room. */
  readonly refused: readonly HttpRoute[];
  /** Whether it belongs to another object than a Gateway or one of its routes, because that is older. */
  readonly isOfOther: boolean;
  readonly clientRules: ClientRules;
  /** The listeners that serve it, or what is over it where nothing names it, first those of the route that has it. */
  readonly listeners: readonly BoundListener[];
  /** Those that don't serve it at some place, because they require other client certificates than its owner there. */
  readonly conflicting: readonly BoundListener[];
};

/** Which objects of other kinds have paths of a host, accepted or not: any, or any of a wildcard over it or of every host. */
export type SharedNames = {
  readonly isShared: boolean;
  readonly isBelowShared: boolean;
  /** Those that pass connections on and have lost the host to an older object that ends TLS. */
  readonly lostBy: ReadonlySet<BoundListener>;
  readonly passedAt: PassedAt;
};

/**
 * Decides where a host is served, whom it belongs to, which client certificates it requires at each place, which rules apply there, and which
 * certificate it has; null if it has no listeners. `other`: the oldest object of another kind that names the host.
 */
export function gatewayHost(
  name: Hostname,
  rules: HostRules,
  map: PortMap,
  backends: RouteBackends,
  other: OtherOwner | undefined,
  { isShared, isBelowShared, lostBy, passedAt }: SharedNames,
): GatewayHost | null {
  // The other objects have the connections of exactly this host everywhere, unless a listener for it passes them on.
  const isPassing = (bound: BoundListener): boolean => bound.listener.hostname === name && !lostBy.has(bound);
  const covered = rules.placesOf(name, isShared ? isPassing : null).filter((one) => isShared || !isPassedOver(name, one, passedAt));
  const named = isBelowShared && !isShared ? namedAmong(name, covered, rules, map) : covered;
  if (named.length === 0) return null;
  const owner = hostOwner(name, rules, other, named, covered);
  const owned = named.map((one) => ownedPlace(one, name, owner, rules, isPassing));
  const usual = isShared ? requiredBy(rules.requiringOf(name, isPassing).filter(owner.isDeciding)) : undefined;
  // What is not accepted serves nothing, so nothing has to be protected at the other places of the owner, such as one with a redirect.
  const { found: served, conflicting, rules: clients } = clientRules(owned, usual, owner.isBeside, map);
  const refusing = new Set(conflicting);
  const places = served.map(({ place, listeners, before, ...one }): ServedPlace => {
    // Where only late listeners have it that refuse to serve it, it is served by what they have taken it from.
    const serving = listeners.length > 0 ? listeners : before.filter((bound) => !refusing.has(bound) && admits(bound, place.authorities));
    const list = conflicting.length === 0 ? one.list : rules.rulesFor(name, serving);
    return {
      ...place,
      scheme: serving[0]?.listener.protocol === 'HTTP' ? 'http' : 'https',
      namespaces: isShared ? namespacesOf([...listeners, ...before]) : [],
      serving: isShared ? namespacesOf(before) : [],
      attached: isShared ? attachedIn(list, serving, (route) => rules.listenersOf(route, name)) : NONE_ATTACHED,
      isBefore: isShared && isNamedBefore(owner, name, [], list),
      list,
    };
  });
  const over = covered.filter((place) => !named.includes(place)).flatMap((one) => one.listeners);
  const ownFirst = (some: readonly BoundListener[]) => [...new Set(some)].sort((a, b) => Number(owner.isOwn(b)) - Number(owner.isOwn(a)));
  const listeners = ownFirst([...served.flatMap((one) => one.listeners), ...over]);
  const early = served.flatMap(({ before }) => before).filter((bound) => !refusing.has(bound));
  const certifying = ownFirst(certifyingListeners(listeners, early, over));
  return {
    ...{ name, listeners, conflicting, isOfOther: owner.isOfOther, clientRules: clients },
    ...blocksOfHost({ places, isShared }, map, backends),
    ...hostCertificate(name, listeners, certifying, owner, rules),
    ports: [...new Set(places.map(({ port }) => mapPort(map, port)))],
  };
}

/**
 * The listeners that decide about the certificate of a host. If those that late ones have taken it from have certificates, their namespaces
 * still do.
 */
function certifyingListeners(
  listeners: readonly BoundListener[],
  early: readonly BoundListener[],
  over: readonly BoundListener[],
): readonly BoundListener[] {
  const certified = new Set(namespacesOf(early.filter(({ secrets }) => secrets.length > 0)));
  if (certified.size === 0) return listeners;
  return [...early, ...listeners.filter(({ owner }) => certified.has(owner.meta.namespace)), ...over];
}

/** Whether a listener serves clients with certificates of these authorities only, or without any (null), as they are required there. */
const admits = ({ clientAuthorities }: BoundListener, authorities: string | null): boolean =>
  clientAuthorities === null || clientAuthorities === authorities;

const namespacesOf = (some: readonly BoundListener[]): string[] => [...new Set(some.map(({ owner }) => owner.meta.namespace))];

const NONE_ATTACHED: ServedPlace['attached'] = new Map();

/** The namespaces of those listeners of a place that each of its routes is attached to. */
function attachedIn(
  list: ServedPlace['list'],
  some: readonly BoundListener[],
  listenersOf: (route: HttpRoute) => ReadonlySet<BoundListener>,
): ServedPlace['attached'] {
  const namespacesFor = (route: HttpRoute): string[] => {
    const all = listenersOf(route);
    return namespacesOf(some.filter((bound) => all.has(bound)));
  };
  return new Map([...new Set(list.map(({ route }) => route))].map((route) => [route, namespacesFor(route)]));
}
