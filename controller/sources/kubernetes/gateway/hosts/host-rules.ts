import { DEFAULT_HTTPS_PORT } from '../../../../../shared/settings.ts';
import { wildcardOf } from '../../../../../shared/values/host.ts';
import type { HttpMatch, HttpRoute, HttpRule } from '../../objects/http-route.ts';
import { byAge, isOlder, isOlderForeign, type Meta, oldestOf } from '../../objects/meta.ts';
import { isSameList } from '../../objects/same-list.ts';
import type { Attachment } from '../attachments.ts';
import type { BoundListener } from '../listeners.ts';
import { mapPort, type PortMap } from '../port-map.ts';
import { compareMatches } from '../rules/conditions.ts';
import { coveringNames, type Hostname } from './hostnames.ts';

/** A match of a rule of a route, and how much less specific than the host its route's name is; 0: it is the host itself. */
export type RuleMatch = {
  readonly route: HttpRoute;
  readonly rule: HttpRule;
  readonly number: number;
  readonly match: HttpMatch;
  readonly rank: number;
  /** Whether its route is not accepted: it answers 500, and takes nothing from others. */
  readonly isRefused: boolean;
};

/** Where connections arrive: a port of listeners, and an address of the proxy if each Gateway has its own, else null. */
export type ListenAddress = { readonly address: string | null; readonly port: number };

/** A place where a host has listeners, with their rules for it in the order in which these are tried. */
export type HostPlace = {
  readonly place: ListenAddress;
  readonly listeners: readonly BoundListener[];
  readonly list: readonly RuleMatch[];
};

/** An object that names a host; `bound` if it is a listener. `certifiedBy`: the uid of the object whose certificate its host has. */
export type NamingObject = { readonly meta: Meta; readonly bound: BoundListener | null; readonly certifiedBy?: string };

/** The routes of a listener by the host name that they have there. */
type Routes = Map<Hostname, HttpRoute[]>;
type ByName = Map<Hostname, BoundListener[]>;
export type IsPassing = (bound: BoundListener) => boolean;
type Listeners = { readonly place: ListenAddress; readonly byName: ByName };

/** Which rules apply to which hosts at which places: usually those of the most specific listener, the most specific rule first. */
export class HostRules {
  /** Gateways may share a place. */
  private readonly listeners = new Map<string, Listeners>();
  /** Those that pass TLS connections on, by place. */
  private readonly passing = new Map<string, ByName>();
  private readonly routes = new Map<BoundListener, Routes>();
  /** The listeners with routes that are for exactly a host there. */
  private readonly naming = new Map<Hostname, Set<BoundListener>>();
  private readonly map: PortMap;
  /** The routes that are not accepted. */
  private readonly refused: ReadonlySet<HttpRoute>;

  constructor(
    listeners: readonly BoundListener[],
    attachments: readonly Attachment<HttpRoute>[],
    map: PortMap,
    refused: ReadonlySet<HttpRoute>,
  ) {
    this.map = map;
    this.refused = refused;
    for (const bound of listeners) {
      if (!bound.isServed) continue;
      const { hostname, protocol } = bound.listener;
      const byName = protocol === 'TLS' ? this.passingAt(placeOf(bound)) : this.at(placeOf(bound)).byName;
      byName.set(hostname, [...(byName.get(hostname) ?? []), bound]);
      if (protocol !== 'TLS') this.routes.set(bound, new Map());
    }
    for (const { route, listeners: attached } of attachments)
      for (const { bound, hosts } of attached)
        for (const host of hosts) {
          const routes = this.routes.get(bound);
          if (routes === undefined) continue;
          const known = routes.get(host);
          // A route may name a listener twice.
          if (known === undefined) routes.set(host, [route]);
          else if (!known.includes(route)) known.push(route);
          this.naming.set(host, (this.naming.get(host) ?? new Set()).add(bound));
        }
  }

  private at(place: ListenAddress): Listeners {
    const key = this.keyOf(place);
    const known = this.listeners.get(key) ?? { place, byName: new Map() };
    this.listeners.set(key, known);
    return known;
  }

  private passingAt(place: ListenAddress): ByName {
    const key = this.keyOf(place);
    const known: ByName = this.passing.get(key) ?? new Map();
    this.passing.set(key, known);
    return known;
  }

  /** Connections to ports that are mapped to the same one can't be told apart. */
  private keyOf({ address, port }: ListenAddress): string {
    return `${address ?? ''} ${mapPort(this.map, port)}`;
  }

  /** Every known host name, including those of listeners, because a listener withholds its hosts from less specific ones. */
  names(): Hostname[] {
    const names = new Set<Hostname>();
    for (const { byName } of this.listeners.values()) for (const name of byName.keys()) names.add(name);
    for (const routes of this.routes.values()) for (const name of routes.keys()) names.add(name);
    return [...names];
  }

  /**
   * The places where a host has listeners, sorted. `isPassing`: whether one that passes connections
   * on, and covers the host, does that for it; null: each does.
   */
  placesOf(name: Hostname, isPassing: IsPassing | null): HostPlace[] {
    const names = coveringNames(name);
    return [...this.listeners]
      .flatMap(([key, { place, byName }]) => {
        const listeners = this.servingAt(key, byName, names, isPassing);
        return listeners.length === 0 ? [] : [{ place, listeners, list: this.rulesFor(name, listeners) }];
      })
      .sort(({ place: a }, { place: b }) => a.port - b.port || ((a.address ?? '') < (b.address ?? '') ? -1 : 1));
  }

  /** `names` are those that cover a name, the most specific one first: itself. */
  private servingAt(key: string, byName: ByName, names: readonly Hostname[], isPassing: IsPassing | null): readonly BoundListener[] {
    const [name = null] = names;
    const passing = this.passingFor(key, names, isPassing);
    const covering = names.find((one) => byName.has(one) || passing?.has(one));
    if (covering === undefined) return [];
    const most = byName.get(covering);
    // One that has lost a host to a more specific listener does not get it back by one that is still more specific.
    const youngest = most?.map(({ owner }) => owner).reduce((one, other) => (isOlder(one, other) ? other : one));
    const moreThan = new Map<Hostname, readonly BoundListener[]>();
    const rivalsOf = ({ listener: { hostname } }: BoundListener): readonly BoundListener[] => {
      if (most === undefined) return passing?.get(covering) ?? [];
      const isCounted = (one: Hostname, { owner }: BoundListener) => one === covering || youngest === undefined || isOlder(owner, youngest);
      const known =
        moreThan.get(hostname) ??
        names.slice(0, names.indexOf(hostname)).flatMap((one) => (byName.get(one) ?? []).filter((rival) => isCounted(one, rival)));
      moreThan.set(hostname, known);
      return known;
    };
    const keeping = [...(this.naming.get(name) ?? [])].filter(
      (bound) =>
        bound.listener.hostname !== covering &&
        this.keyOf(placeOf(bound)) === key &&
        rivalsOf(bound).every((rival) => this.keeps(bound, name, rival)) &&
        !this.isIsolated(bound, names, byName, passing),
    );
    return keeping.length === 0 ? (most ?? []) : [...(most ?? []), ...keeping];
  }

  /** Those at a place that pass the connections of a host on. */
  private passingFor(key: string, names: readonly Hostname[], isPassing: IsPassing | null): ByName | undefined {
    const all = this.passing.get(key);
    if (all === undefined || isPassing === null) return all;
    const found = names.map((name) => [name, (all.get(name) ?? []).filter(isPassing)] as const);
    return new Map(found.filter(([, some]) => some.length > 0));
  }

  /**
   * The listeners whose hosts include this one and that require client certificates, also where Gateways of other namespaces have more
   * specific ones.
   */
  requiringOf(name: Hostname, isPassing: IsPassing | null): BoundListener[] {
    const names = coveringNames(name);
    return [...this.listeners].flatMap(([key, { byName }]) => {
      const passing = this.passingFor(key, names, isPassing);
      const serving = new Set(this.servingAt(key, byName, names, isPassing));
      // From the most specific name on: the namespaces that have a listener for it.
      const taken = new Set<string>();
      return names.flatMap((one) => {
        const at = byName.get(one) ?? [];
        const found = at.filter(
          (bound) =>
            bound.clientAuthorities !== null &&
            (serving.has(bound) || (!taken.has(bound.owner.meta.namespace) && !this.isIsolated(bound, names, byName, passing))),
        );
        for (const { owner } of [...at, ...(passing?.get(one) ?? [])]) taken.add(owner.meta.namespace);
        return found;
      });
    });
  }

  /** The listeners of a place that have a host there if only some of the listeners count. */
  otherwiseAt(
    place: ListenAddress,
    name: Hostname,
    isPassing: IsPassing | null,
    isCounted: (bound: BoundListener) => boolean,
  ): readonly BoundListener[] {
    const key = this.keyOf(place);
    const names = coveringNames(name);
    const all = this.listeners.get(key)?.byName;
    const counted = names.map((one) => [one, (all?.get(one) ?? []).filter(isCounted)] as const).filter(([, some]) => some.length > 0);
    return this.servingAt(key, new Map(counted), names, isPassing).filter(isCounted);
  }

  /** The accepted routes that name a host at a listener. */
  namingAt(bound: BoundListener, name: Hostname): readonly HttpRoute[] {
    return (this.routes.get(bound)?.get(name) ?? []).filter((route) => !this.refused.has(route));
  }

  /** Whether its Gateway has a more specific listener at the place, although another Gateway may have the most specific one. */
  private isIsolated({ gateway, listener }: BoundListener, names: readonly Hostname[], ...all: readonly (ByName | undefined)[]): boolean {
    const more = names.slice(0, names.indexOf(listener.hostname));
    return more.some((name) => all.some((byName) => byName?.get(name)?.some((other) => other.gateway === gateway)));
  }

  /**
   * Whether a listener has a host that routes there name, although there is a more specific listener. One that ends connections takes no
   * host from an earlier route of another namespace: otherwise anyone who may create a Gateway could take those of others. Within a
   * Gateway, the most specific listener alone has a host.
   */
  private keeps(bound: BoundListener, name: Hostname, { gateway, owner, listener }: BoundListener): boolean {
    if (gateway === bound.gateway) return false;
    if (listener.protocol === 'TLS') return true;
    const routes = this.routes.get(bound)?.get(name) ?? [];
    const isEarlier = (route: HttpRoute) => !this.refused.has(route) && isOlderForeign(route, owner);
    return owner.meta.namespace !== bound.owner.meta.namespace && routes.some(isEarlier);
  }

  /**
   * The listeners for HTTPS at a place that are for exactly this host, and the routes that name it there. A route counts although a
   * listener of its namespace has taken the host from it: those who move to a Gateway of their own keep their host.
   */
  namingHttps(name: Hostname, place: ListenAddress): NamingObject[] {
    const key = this.keyOf(place);
    const at: ByName = this.listeners.get(key)?.byName ?? new Map();
    const names = coveringNames(name);
    const https = names
      .flatMap((covering) => at.get(covering) ?? [])
      .filter((bound) => bound.listener.protocol === 'HTTPS' && !this.isIsolated(bound, names, at, this.passing.get(key)));
    const listeners = https.filter(({ listener }) => listener.hostname === name).map((bound) => ({ meta: bound.owner.meta, bound }));
    return [
      ...listeners,
      ...https
        .flatMap((bound) => this.routes.get(bound)?.get(name) ?? [])
        .flatMap((route) => (this.refused.has(route) ? [] : [{ meta: route.meta, bound: null }])),
    ];
  }

  /** Whether a namespace has a listener for HTTPS at a place whose hosts include this one. */
  hasHttpsOf(namespace: string, name: Hostname, place: ListenAddress): boolean {
    const at = this.listeners.get(this.keyOf(place))?.byName;
    const isOne = ({ listener, owner }: BoundListener) => listener.protocol === 'HTTPS' && owner.meta.namespace === namespace;
    return coveringNames(name).some((covering) => at?.get(covering)?.some(isOne) === true);
  }

  /**
   * The oldest object with a listener for HTTPS whose certificate a host has at a place: one over it there, or one for it or its wildcard
   * elsewhere, since a certificate for a name is presented at every place.
   */
  httpsOver(name: Hostname, place: ListenAddress): Meta | undefined {
    const key = this.keyOf(place);
    const over = coveringNames(name).slice(1);
    const certified = name === null ? [] : [name, wildcardOf(name)].filter((one) => one !== undefined);
    const all = [...this.listeners].flatMap(([at, { byName }]) =>
      (at === key ? over : certified).flatMap((covering) => byName.get(covering) ?? []),
    );
    return oldestOf(all.filter(({ listener }) => listener.protocol === 'HTTPS').map(({ owner }) => owner))?.meta;
  }

  /**
   * The listeners over a host whose certificates are presented for it where it has none of its own: those for its wildcard, and those for
   * every host on the usual port, or on that of a listener which would replace them.
   */
  certifying(name: Hostname, { listener: { port } }: BoundListener): BoundListener[] {
    const wildcard = name === null || name.startsWith('*.') ? undefined : wildcardOf(name);
    const ports = new Set([DEFAULT_HTTPS_PORT, port].map((one) => mapPort(this.map, one)));
    const isHere = (bound: BoundListener): boolean => ports.has(mapPort(this.map, bound.listener.port));
    return [...this.listeners.values()]
      .flatMap(({ byName }) => [
        ...(byName.get(null) ?? []).filter(isHere),
        ...(wildcard === undefined ? [] : (byName.get(wildcard) ?? [])),
      ])
      .filter(({ secrets }) => secrets.length > 0);
  }

  /** The listeners at which a route has a host. */
  listenersOf(route: HttpRoute, name: Hostname): ReadonlySet<BoundListener> {
    const all = coveringNames(name).flatMap((covering) =>
      [...(this.naming.get(covering) ?? [])].map((bound) => [covering, bound] as const),
    );
    return new Set(all.flatMap(([covering, bound]) => (this.routes.get(bound)?.get(covering)?.includes(route) ? [bound] : [])));
  }

  /** The rules of listeners for a host, in the order in which they are tried. */
  rulesFor(name: Hostname, listeners: readonly BoundListener[]): readonly RuleMatch[] {
    const seen = new Set<HttpRoute>();
    const among = setOf(listeners);
    const lists = coveringNames(name).flatMap((covering, rank) => {
      const naming = [...(this.naming.get(covering) ?? [])].filter((bound) => among.has(bound));
      const routes = new Set(naming.flatMap((bound) => this.routes.get(bound)?.get(covering) ?? []).filter((route) => !seen.has(route)));
      for (const route of routes) seen.add(route);
      return routes.size === 0 ? [] : [sortedMatches([...routes], rank, this.refused)];
    });
    return lists.length === 1 && lists[0] ? lists[0] : lists.flat();
  }
}

const sets = new WeakMap<readonly BoundListener[], ReadonlySet<BoundListener>>();

/** Hundreds of Gateways may have the same listener, which then serve each other's hosts. */
function setOf(listeners: readonly BoundListener[]): ReadonlySet<BoundListener> {
  const known = sets.get(listeners) ?? new Set(listeners);
  sets.set(listeners, known);
  return known;
}

const placeOf = ({ address, listener }: BoundListener): ListenAddress => ({ address, port: listener.port });

type Sorted = {
  readonly routes: readonly HttpRoute[];
  readonly refused: readonly HttpRoute[];
  readonly rank: number;
  readonly list: readonly RuleMatch[];
};
/** Those of earlier hosts and snapshots, by their first route. */
const sorted = new WeakMap<HttpRoute, readonly Sorted[]>();
/** With one first route. */
const MAX_SORTED = 16;

/** The matches of routes in the order in which they are tried: the same list each time, as long as the routes are the same objects. */
function sortedMatches(routes: readonly HttpRoute[], rank: number, allRefused: ReadonlySet<HttpRoute>): readonly RuleMatch[] {
  const [first] = routes;
  if (first === undefined) return [];
  const refused = routes.filter((route) => allRefused.has(route));
  const known = sorted.get(first) ?? [];
  const before = known.find((one) => one.rank === rank && isSameList(one.routes, routes) && isSameList(one.refused, refused));
  if (before !== undefined) return before.list;
  const list = routes.flatMap((route) => matchesOf(route, rank, allRefused.has(route))).sort(bySpecificity);
  sorted.set(first, [{ routes, refused, rank, list }, ...known].slice(0, MAX_SORTED));
  return list;
}

const matchesOf = (route: HttpRoute, rank: number, isRefused: boolean): RuleMatch[] =>
  route.rules.flatMap((rule, index) => rule.matches.map((match) => ({ route, rule, number: index + 1, match, rank, isRefused })));

/** The order in which the rules of a host are tried, at whichever of its places. */
export const compareRules = (a: RuleMatch, b: RuleMatch): number => a.rank - b.rank || bySpecificity(a, b);

/** Ages and names decide between routes that are accepted, the order of the rules within one. */
const bySpecificity = (a: RuleMatch, b: RuleMatch): number =>
  compareMatches(a.match, b.match) ||
  (a.route === b.route ? a.number - b.number : Number(a.isRefused) - Number(b.isRefused) || byAge(a.route, b.route));
