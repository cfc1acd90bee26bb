import { MAX_PORTS, MAX_TARGETS } from '../../../../../shared/limits.ts';
import type { RouteInput } from '../../../../../shared/route.ts';
import type { TlsRoute } from '../../objects/tls-route.ts';
import { mapPort, type PortMap } from '../port-map.ts';
import type { RouteBackends } from '../rules/route-backends.ts';
import type { ListenAddress } from './host-rules.ts';

/** Where the connections for a host are passed on to. */
export type HostPassthroughs = NonNullable<RouteInput['tls_passthrough']>;
type Upstreams = NonNullable<HostPassthroughs[number]['upstreams']>;

/** Without a route, connections are closed. */
export const passthroughAt = (
  { address, port }: ListenAddress,
  map: PortMap,
  route: TlsRoute | undefined,
  backends: RouteBackends,
): HostPassthroughs[number] => ({
  ports: [mapPort(map, port)],
  ...(address !== null && { local_ips: [address] }),
  upstreams: route ? targetsOf(route, backends) : [],
});

/** Joins entries with the same targets, because a route has room for few: those of one address, and then those of the same ports. */
export function joined(entries: HostPassthroughs): HostPassthroughs {
  const byAddress = Map.groupBy(entries, ({ upstreams, local_ips }) => JSON.stringify([upstreams, local_ips]));
  const ofAddresses = [...byAddress.values()].flatMap(([first, ...others]) =>
    first ? [{ ...first, ports: [...new Set([first, ...others].flatMap(({ ports }) => ports ?? []))].sort((a, b) => a - b) }] : [],
  );
  const byPorts = Map.groupBy(ofAddresses, ({ upstreams, ports, local_ips }) =>
    JSON.stringify([upstreams, ports, local_ips === undefined]),
  );
  const all = [...byPorts.values()].flatMap(([first, ...others]) =>
    first?.local_ips ? [{ ...first, local_ips: [first, ...others].flatMap(({ local_ips }) => local_ips ?? []) }] : (first ?? []),
  );
  return all.slice(0, MAX_PORTS);
}

/** The proxy gives weights to targets, so the weight of a backend is divided among its targets. */
function targetsOf({ kind, meta, backends: refs }: TlsRoute, backends: RouteBackends): Upstreams {
  const groups = refs.flatMap((ref) => {
    const upstreams = backends.resolve({ kind, namespace: meta.namespace }, ref).pool?.upstreams ?? [];
    return ref.weight === 0 || upstreams.length === 0 ? [] : [{ upstreams, share: ref.weight / upstreams.length }];
  });
  const most = Math.max(...groups.map(({ share }) => share));
  const found = new Map<string, Upstreams[number]>();
  for (const { upstreams, share } of groups)
    for (const upstream of upstreams)
      if (!found.has(upstream.address))
        found.set(upstream.address, { ...upstream, weight: Math.max(1, Math.round((share / most) * 1_000)) });
  // With more, the route of the host would not be valid, which others share.
  return [...found.values()].slice(0, MAX_TARGETS);
}
