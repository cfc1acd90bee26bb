import { isOlder, nameOf, oldestOf, type WithMeta } from '../../objects/meta.ts';
import type { TlsRoute } from '../../objects/tls-route.ts';
import type { Attachment } from '../attachments.ts';
import type { BoundListener } from '../listeners.ts';
import type { PortMap } from '../port-map.ts';
import type { RouteBackends } from '../rules/route-backends.ts';
import type { ListenAddress, NamingObject } from './host-rules.ts';
import { coveringNames, type Hostname } from './hostnames.ts';
import type { LostHost } from './lost-hosts.ts';
import { type Passing, type PassingPlace, passingPlaces } from './passing-places.ts';
import { type HostPassthroughs, joined, passthroughAt } from './passthroughs.ts';

export type EndingAt = (name: Hostname, place: ListenAddress) => readonly NamingObject[];

export type TlsHosts = {
  readonly passthroughs: ReadonlyMap<Hostname, HostPassthroughs>;
  /** The listeners that pass on the connections for a host, or close them. */
  readonly serving: ReadonlySet<BoundListener>;
  /** The hosts of listeners that others have: those that pass connections on, and those that end TLS. */
  readonly lost: readonly LostHost[];
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
  const places = passingPlaces(
    listeners.filter(({ isServed }) => isServed),
    attachments,
    map,
  );
  const named = places.flatMap((one) => [...one.names]);
  const isClosed = places.some(({ hasHttps }) => !hasHttps);
  const passthroughs = new Map<Hostname, HostPassthroughs>();
  const outcome = { serving: new Set<BoundListener>(), lost: [] as LostHost[] };
  for (const name of new Set(isClosed ? [...named, null] : named)) {
    const entries: HostPassthroughs[number][] = [];
    for (const one of places) {
      const decision = decisionAt(one, name, endingAt);
      if (decision === null) continue;
      for (const bound of decision.serving) outcome.serving.add(bound);
      outcome.lost.push(...decision.lost);
      if (decision.isPassing) entries.push(passthroughAt(one.place, map, decision.route, backends));
    }
    if (entries.length > 0) passthroughs.set(name, joined(entries));
  }
  return { passthroughs, ...outcome };
}

/** Whether the connections for a host are passed on at a place, or closed without a route, by which listeners, and which others lose it. */
type Decision = {
  readonly isPassing: boolean;
  readonly route?: TlsRoute | undefined;
  readonly serving: readonly BoundListener[];
  readonly lost: readonly LostHost[];
};

const CLOSED: Decision = { isPassing: true, serving: [], lost: [] };

/** The most specific listener of a place decides, and then the most specific of its routes, or the oldest of several; null if it has none. */
function decisionAt(at: PassingPlace, name: Hostname, endingAt: EndingAt): Decision | null {
  const having = at.having(name);
  if (having.length === 0) return name === null && !at.hasHttps && endingAt(null, at.place).length === 0 ? CLOSED : null;
  const isEnded = (one: Passing): boolean => at.isEnded(one, name);
  const ended = having.filter(isEnded).map(({ bound }) => lostBy(bound, name, 'a more specific listener that ends TLS'));
  const here = having.filter((one) => !isEnded(one));
  const [first] = here;
  // A route may name the host at another place only.
  const isNamed = here.some(({ bound, routes }) => bound.listener.hostname === name || routes.has(name));
  if (first === undefined || !isNamed) return { isPassing: false, serving: [], lost: ended };
  const route = routeAmong(here, name);
  const listeners = here.map(({ bound }) => bound);
  const rivals = endingAt(name, at.place);
  if (isLostTo(oldestOf(rivals), claimOf(first, route, name, at))) {
    const lost = listeners.map((bound) => lostBy(bound, name, 'an older object that ends TLS'));
    return { isPassing: false, serving: [], lost: [...ended, ...lost] };
  }
  const owner = `the listener ${first.bound.listener.name} of ${nameOf(first.bound.owner.meta)}, which passes connections on`;
  const others = rivals.flatMap(({ bound }) => (bound === null ? [] : [lostBy(bound, name, owner, 'does not serve it')]));
  return { isPassing: true, route, serving: listeners, lost: [...ended, ...others] };
}

/** That of the most specific name, and the oldest one of several. */
function routeAmong(listeners: readonly Passing[], name: Hostname): TlsRoute | undefined {
  const byName = coveringNames(name).map((one) => oldestOf(listeners.flatMap(({ routes }) => routes.get(one) ?? [])));
  return byName.find((one) => one !== undefined);
}

/** The namespace that would pass the connections for a host on, with its objects that name the host at a place. */
type Claim = {
  readonly namespace: string;
  readonly naming: readonly WithMeta[];
  /** Whether its Gateway also ends TLS there, for what is over the host. */
  readonly isEndedToo: boolean;
};

/** `first`: the oldest of the listeners that have the host. */
function claimOf(first: Passing, route: TlsRoute | undefined, name: Hostname, at: PassingPlace): Claim {
  const { listener, owner } = first.bound;
  const { namespace } = (route ?? owner).meta;
  // A route counts although a listener of its namespace has taken the host from it: those who move to a Gateway of their own keep their host.
  const routes = at.routesNaming(name).filter(({ meta }) => meta.namespace === namespace);
  return { namespace, naming: listener.hostname === name ? [owner, ...routes] : routes, isEndedToo: at.isEndedToo(first, name) };
}

/** Whether the oldest object that would end TLS is of another namespace, and older than what names the host in order to pass it on. */
function isLostTo(rival: NamingObject | undefined, { namespace, naming, isEndedToo }: Claim): boolean {
  if (rival === undefined || rival.meta.namespace === namespace || naming.length === 0) return false;
  // An object that also ends TLS for the host at another place, with its own certificate, takes nothing: there was no HTTPS before it.
  const isOwnHttps = !isEndedToo && naming.some(({ meta }) => meta.uid === rival.certifiedBy);
  return !isOwnHttps && naming.every((one) => isOlder(rival, one));
}

function lostBy(bound: BoundListener, name: Hostname, owner: string, what = 'does not pass its connections on'): LostHost {
  const { name: own, port } = bound.listener;
  return { bound, name, why: `${name ?? '*'}: on port ${port} it belongs to ${owner}, so the listener ${own} ${what}` };
}
