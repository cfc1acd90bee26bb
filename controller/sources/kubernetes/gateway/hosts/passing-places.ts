import { byAge, isOlderForeign } from '../../objects/meta.ts';
import type { TlsRoute } from '../../objects/tls-route.ts';
import type { Attachment } from '../attachments.ts';
import type { BoundListener } from '../listeners.ts';
import { mapPort, type PortMap } from '../port-map.ts';
import type { ListenAddress } from './host-rules.ts';
import { coveringNames, type Hostname } from './hostnames.ts';

/** A listener that passes connections on, with the routes of each of its hosts, the oldest first. */
export type Passing = { readonly bound: BoundListener; readonly routes: ReadonlyMap<Hostname, readonly TlsRoute[]> };

/** The places of listeners that pass connections on; `listeners` are all that are served, those of the oldest Gateways first. */
export function passingPlaces(
  listeners: readonly BoundListener[],
  attachments: readonly Attachment<TlsRoute>[],
  map: PortMap,
): readonly PassingPlace[] {
  // Connections to ports that are mapped to the same one can't be told apart.
  const keyOf = ({ address, listener }: BoundListener): string => `${mapPort(map, listener.port)} ${address ?? ''}`;
  const passing = passingOf(
    listeners.filter(({ listener }) => listener.protocol === 'TLS'),
    attachments,
  );
  const https = Map.groupBy(
    listeners.filter(({ listener }) => listener.protocol === 'HTTPS'),
    keyOf,
  );
  return [...Map.groupBy(passing, ({ bound }) => keyOf(bound))].map(([key, list]) => new PassingPlace(list, https.get(key) ?? []));
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

/** Where listeners pass connections on: which of them have a host there, and which routes name it. */
export class PassingPlace {
  /** Where one of them is. */
  readonly place: ListenAddress;
  /** Whether listeners end TLS there too. */
  readonly hasHttps: boolean;
  /** The hosts of its listeners and routes. */
  readonly names: ReadonlySet<Hostname>;
  private readonly byHost: ReadonlyMap<Hostname, readonly Passing[]>;
  /** By the hosts that routes name. */
  private readonly naming = new Map<Hostname, Passing[]>();
  /** The hosts of each Gateway's listeners by `keyIn`: those that pass connections on, and those that end TLS. */
  private readonly passingIn: ReadonlySet<string>;
  private readonly endingIn: ReadonlySet<string>;

  constructor(listeners: readonly Passing[], https: readonly BoundListener[]) {
    const [first] = listeners;
    this.place = { address: first?.bound.address ?? null, port: first?.bound.listener.port ?? 0 };
    this.hasHttps = https.length > 0;
    this.byHost = Map.groupBy(listeners, ({ bound }) => bound.listener.hostname);
    this.passingIn = new Set(listeners.map(({ bound }) => keyIn(bound, bound.listener.hostname)));
    this.endingIn = new Set(https.map((bound) => keyIn(bound, bound.listener.hostname)));
    for (const one of listeners)
      for (const name of one.routes.keys()) {
        const known = this.naming.get(name);
        if (known) known.push(one);
        else this.naming.set(name, [one]);
      }
    this.names = new Set(listeners.flatMap(({ bound, routes }) => [bound.listener.hostname, ...routes.keys()]));
  }

  /** The listeners that have a host: the most specific ones, and those that keep it. */
  having(name: Hostname): readonly Passing[] {
    const names = coveringNames(name);
    const covering = names.find((one) => this.byHost.has(one));
    if (covering === undefined) return [];
    const most = this.byHost.get(covering) ?? [];
    const isKeeping = (one: Passing): boolean =>
      one.bound.listener.hostname !== covering && most.every((rival) => keeps(one, name, rival)) && !isIsolated(one, names, this.passingIn);
    return [...most, ...(this.naming.get(name) ?? []).filter(isKeeping)];
  }

  /** Whether the Gateway of a listener has a more specific one for a host that ends TLS. */
  isEnded(one: Passing, name: Hostname): boolean {
    return isIsolated(one, coveringNames(name), this.endingIn);
  }

  /** Whether the Gateway of a listener also ends TLS for what is over a host, or for the host itself. */
  isEndedToo({ bound }: Passing, name: Hostname): boolean {
    return coveringNames(name).some((one) => this.endingIn.has(keyIn(bound, one)));
  }

  /** The routes that name a host, to any listener that may pass its connections on. */
  routesNaming(name: Hostname): readonly TlsRoute[] {
    return (this.naming.get(name) ?? []).flatMap((one) => (this.isEnded(one, name) ? [] : (one.routes.get(name) ?? [])));
  }
}

/** Of a host in the Gateway of a listener. */
const keyIn = ({ gateway }: BoundListener, name: Hostname): string => `${gateway.meta.uid} ${name ?? '*'}`;

/** Whether its Gateway has a more specific listener for a host among those with these keys. `names`: those that cover the host. */
function isIsolated({ bound }: Passing, names: readonly Hostname[], keys: ReadonlySet<string>): boolean {
  const more = names.slice(0, names.indexOf(bound.listener.hostname));
  return more.some((name) => keys.has(keyIn(bound, name)));
}

/**
 * Whether a listener has a host that a route there names, although there is a more specific one of another Gateway: if the route is earlier,
 * and of another namespace.
 */
function keeps({ bound, routes }: Passing, name: Hostname, { bound: { gateway, owner } }: Passing): boolean {
  if (gateway === bound.gateway || owner.meta.namespace === bound.owner.meta.namespace) return false;
  return routes.get(name)?.some((route) => isOlderForeign(route, owner)) === true;
}
