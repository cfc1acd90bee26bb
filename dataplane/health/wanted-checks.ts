import { type PoolSpec, poolsIn } from '../../shared/pools.ts';
import type { RouteSpec, UpstreamSpec } from '../../shared/route.ts';
import { type TransportSpec, transportName } from '../../shared/transport.ts';
import { certificateName } from '../../shared/values/address.ts';
import { type Gate, gateOf, questionTo } from '../ledger/health-checks.ts';

/** A question to a target, as one route has it. */
export type Watched = {
  readonly gate: Gate;
  readonly address: string;
  readonly tls: boolean;
  readonly id: string | null;
  /** The name that its certificate must show; null without TLS. */
  readonly serverName: string | null;
  readonly transport: TransportSpec | null;
  /** Whether it is asked now; where it is not, what is known of it holds. */
  readonly asking: boolean;
  /** Milliseconds from one question to the next, and until an answer is late. Probes need neither. */
  readonly intervalMs: number;
  readonly timeoutMs: number;
};

/** What is to be known of the targets of a route, which was judged before it was published. */
export function watchedIn(json: string): Watched[] {
  const route: RouteSpec = JSON.parse(json);
  return poolsIn(route).flatMap((pool) => pool.upstreams.flatMap((upstream) => watched(route, upstream, pool)));
}

function watched({ domain, health }: RouteSpec, upstream: UpstreamSpec, { tls, transport }: PoolSpec): Watched[] {
  const { address, id = null } = upstream;
  const asked = gateOf(domain, upstream, tls, health, transport);
  // Without a check only what has a name at its source can have been probed before.
  if (asked === null && health == null && id === null) return [];
  return [
    {
      gate: asked ?? questionTo(domain, upstream, tls, health, false, transport),
      address,
      tls,
      id,
      serverName: tls ? (transport?.server_name ?? certificateName(address, domain)) : null,
      transport: transportName(transport) === '' ? null : (transport ?? null),
      asking: asked !== null,
      intervalMs: (health?.interval_secs ?? 0) * 1_000,
      timeoutMs: (health?.timeout_secs ?? 0) * 1_000,
    },
  ];
}
