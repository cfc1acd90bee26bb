import { MAX_PORTS } from '../../../../../shared/limits.ts';
import type { RouteInput } from '../../../../../shared/route.ts';
import { byAge } from '../../objects/meta.ts';
import type { BoundListener } from '../listeners.ts';
import type { PortMap } from '../port-map.ts';
import type { HostPlace, ListenAddress } from './host-rules.ts';
import type { OwnedPlace } from './owned-places.ts';
import { placeConditions } from './place-conditions.ts';

/** The client certificates that a host requires, as members of its route. */
export type ClientRules = {
  /** PEM: the authorities; null for none. */
  readonly everywhere: string | null;
  readonly elsewhere: NonNullable<RouteInput['client_auth_at']>;
};

/** A place where a host is served, with the authorities of its clients. */
type RuledPlace = ListenAddress & { readonly authorities: string | null };

/**
 * Which client certificates a host requires at each of its places: those of the owner of the host there. A listener that requires others
 * does not serve it there: otherwise anyone who may create a Gateway could replace or add the rule at the places of others.
 *
 * `usual` is for the places of objects that are no Gateways, if the host has such objects. They are served at each of its places, so where none of the
 * listeners is of the host's owner, `isOwn`, it applies as well unless the place requires others; undefined if there are only Gateways.
 */
export function clientRules(all: readonly OwnedPlace[], usual: string | null | undefined, isOwn: OwnedPlace['isOwn'], map: PortMap) {
  const conflicting: BoundListener[] = [];
  const known = new Set<string>();
  const found = new Map<OwnedPlace, HostPlace & { readonly place: RuledPlace; readonly before: OwnedPlace['before'] }>();
  // There is room for some authorities only, first for those of the owner of the host: others may require some at further addresses.
  const isOther = ({ before }: OwnedPlace): number => Number(!before.some(isOwn));
  const ruled: RuledPlace[] = [];
  for (const one of [...all].sort((a, b) => isOther(a) - isOther(b))) {
    const { place, listeners, list, before, isUsual, isOwn: isOwnHere } = one;
    const own = requiredBy(before.filter(isOwnHere));
    // Those that all require some have no part in the host without them, so the place is one of other objects alone.
    const isUnruled = !before.some(isOwn) || before.every(({ clientAuthorities }) => clientAuthorities !== null);
    const authorities = own ?? (usual !== undefined && isUsual && isUnruled ? usual : null);
    const hasRoom = authorities === null || known.has(authorities) || known.size < MAX_PORTS;
    if (authorities !== null && hasRoom) known.add(authorities);
    const isServed = ({ clientAuthorities }: BoundListener): boolean =>
      hasRoom && (clientAuthorities === null || clientAuthorities === authorities);
    const served = listeners.filter(isServed);
    for (const bound of listeners) if (!isServed(bound)) conflicting.push(bound);
    // One that only late listeners have taken over still says where other places of the host are served.
    const isTaken = usual !== undefined && before !== listeners && before.length > 0;
    if (served.length > 0 || isTaken) found.set(one, { place: { ...place, authorities }, listeners: served, list, before });
    // The paths of other objects are served there in any case.
    if (served.length > 0 || (hasRoom && usual !== undefined && before !== listeners)) ruled.push({ ...place, authorities });
  }
  const served = all.flatMap((one) => found.get(one) ?? []);
  const places = usual === undefined ? served.map(({ place }) => place) : ruled;
  const [first] = places;
  const isSame = places.every(({ authorities }) => authorities === first?.authorities);
  const everywhere = usual === undefined ? (isSame ? (first?.authorities ?? null) : null) : usual;
  return { found: served, conflicting, rules: { everywhere, elsewhere: exceptions(places, everywhere, map) } satisfies ClientRules };
}

/** What the oldest of the Gateways with a requirement requires. */
export function requiredBy(listeners: readonly BoundListener[]): string | null {
  const requiring = listeners.filter(({ clientAuthorities }) => clientAuthorities !== null);
  return requiring.sort((a, b) => byAge(a.gateway, b.gateway))[0]?.clientAuthorities ?? null;
}

function exceptions(places: readonly RuledPlace[], everywhere: string | null, map: PortMap): ClientRules['elsewhere'] {
  const others = Map.groupBy(
    places.filter(({ authorities }) => authorities !== everywhere),
    ({ authorities }) => authorities,
  );
  return [...others].flatMap(([ca, group]) =>
    placeConditions(group, map).map(({ port, local_ip: ips }) => ({ ports: port, ...(ips && { local_ips: ips }), ca })),
  );
}
