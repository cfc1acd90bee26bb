import { mapPort, type PortMap } from '../port-map.ts';
import type { HostRules, RuleMatch } from './host-rules.ts';
import type { Hostname } from './hostnames.ts';

/** A place where a host has listeners, and their rules for it. */
type RuledPlace = { readonly place: ReturnType<HostRules['placesOf']>[number]; readonly list: readonly RuleMatch[] };

/**
 * The places at ports where a listener or a route names the host. At others, its requests are for what is over it, which has the same rules of
 * Gateways, and may have paths of other objects.
 */
export function namedAmong(name: Hostname, all: readonly RuledPlace[], map: PortMap): RuledPlace[] {
  const portOf = ({ place }: RuledPlace): number => mapPort(map, place.place.port);
  const isNamed = ({ place, list }: RuledPlace): boolean =>
    place.listeners.some(({ listener }) => listener.hostname === name) || list.some(({ rank }) => rank === 0);
  const ports = new Set(all.filter(isNamed).map(portOf));
  return all.filter((one) => ports.has(portOf(one)));
}
