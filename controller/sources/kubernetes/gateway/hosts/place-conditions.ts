import { mapPort, type PortMap } from '../port-map.ts';
import type { ListenAddress } from './host-rules.ts';

export type PlaceCondition = { readonly port: number[]; readonly local_ip?: string[] };

/** The conditions that together select some places. */
export function placeConditions(places: readonly ListenAddress[], map: PortMap): PlaceCondition[] {
  const byAddress = Map.groupBy(places, ({ address }) => address);
  const byPorts = Map.groupBy([...byAddress], ([, some]) => portsOf(some, map).join());
  return [...byPorts.values()].map((group): PlaceCondition => {
    const addresses = group.flatMap(([address]) => address ?? []);
    return { port: portsOf(group[0]?.[1] ?? [], map), ...(addresses.length > 0 && { local_ip: addresses }) };
  });
}

const portsOf = (places: readonly ListenAddress[], map: PortMap): number[] =>
  [...new Set(places.map(({ port }) => mapPort(map, port)))].sort((a, b) => a - b);
