import { mapPort, type PortMap } from '../port-map.ts';
import type { HostPlace, HostRules, ListenAddress, RuleMatch } from './host-rules.ts';
import { coveringNames, type Hostname } from './hostnames.ts';

/**
 * The places at ports where a listener or a route names the host, or where a Gateway that names it elsewhere has rules for it, such as its
 * redirect to HTTPS of every host. At others, its requests are for what is over it, which may have paths of other objects.
 */
export function namedAmong(name: Hostname, all: readonly HostPlace[], rules: HostRules, map: PortMap): HostPlace[] {
  const listenersOf = (list: readonly RuleMatch[]) =>
    new Set([...new Set(list.map(({ route }) => route))].flatMap((route) => [...rules.listenersOf(route, name)]));
  const portOf = ({ place }: HostPlace): number => mapPort(map, place.port);
  const isNamed = ({ listeners, list }: HostPlace): boolean =>
    listeners.some(({ listener }) => listener.hostname === name) || list.some(({ rank }) => rank === 0);
  const named = all.filter(isNamed);
  const exactly = named.flatMap(({ listeners, list }) => {
    const attached = listenersOf(list.filter(({ rank }) => rank === 0));
    return listeners.filter((bound) => bound.listener.hostname === name || attached.has(bound));
  });
  const naming = new Set(exactly.map(({ gateway }) => gateway));
  const isOfNaming = ({ listeners, list }: HostPlace): boolean => {
    const own = listeners.filter(({ gateway }) => naming.has(gateway));
    const attached = own.length === 0 ? new Set() : listenersOf(list);
    return own.some((bound) => attached.has(bound));
  };
  const ports = new Set(all.filter((one) => isNamed(one) || isOfNaming(one)).map(portOf));
  return all.filter((one) => ports.has(portOf(one)));
}

/** Whether the connections for a name are passed on at a place. */
export type PassedAt = (name: Hostname, place: ListenAddress) => boolean;

/** Whether the connections for a host at a place are those of a wildcard over it that are passed on, since nothing there is more specific. */
export function isPassedOver(name: Hostname, { place, listeners, list: [first] }: HostPlace, passedAt: PassedAt): boolean {
  const names = coveringNames(name);
  const named = names.findIndex((one, rank) => first?.rank === rank || listeners.some(({ listener }) => listener.hostname === one));
  return names.slice(1, named + 1).some((over) => passedAt(over, place));
}
