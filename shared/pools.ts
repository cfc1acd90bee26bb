import type { BalancingSpec } from './balancing/balancing.ts';
import type { HealthCheckSpec } from './health-check.ts';
import { type TransportSpec, whyNotSo } from './transport.ts';

/** The targets of a site or of one of its blocks, and how to connect to them. */
export type PoolSpec<U> = {
  readonly upstreams: readonly U[];
  readonly tls: boolean;
  readonly transport?: TransportSpec | null | undefined;
  readonly lb_policy?: BalancingSpec | null | undefined;
  readonly lb_retries?: number | null | undefined;
  readonly health?: HealthCheckSpec | null | undefined;
};

/**
 * A block's own pool; null if the block uses its site's pool. What a block leaves out is its site's, except that the policy and the number
 * of retries of a site belong to the site's targets.
 */
export function ownPool<U>(route: PoolSpec<U>, block: PoolSpec<U>): PoolSpec<U> | null {
  const { upstreams, tls, lb_policy, lb_retries } = block;
  const transport = block.transport === undefined ? route.transport : block.transport;
  const health = block.health === undefined ? route.health : block.health;
  if (upstreams.length > 0) return { upstreams, tls, transport, health, lb_policy, lb_retries };
  const own = [block.transport, block.health, lb_policy, lb_retries];
  if (own.every((member) => member === undefined)) return null;
  return {
    upstreams: route.upstreams,
    tls: route.tls,
    transport,
    health,
    lb_policy: lb_policy === undefined ? route.lb_policy : lb_policy,
    lb_retries: lb_retries === undefined ? route.lb_retries : lb_retries,
  };
}

/** The part of a route that describes its pools. */
type Pooled<U> = PoolSpec<U> & { readonly handles: readonly PoolSpec<U>[] };

/** All pools of a route, its site's first. */
export const poolsIn = <U>(route: Pooled<U>): PoolSpec<U>[] => [route, ...route.handles.flatMap((handle) => ownPool(route, handle) ?? [])];

/** The first member with an impossible transport, and why; null if all are possible. */
export function transportProblem<U>(route: Pooled<U>): { readonly member: string; readonly reason: string } | null {
  const pools = [
    { member: 'transport', pool: route },
    ...route.handles.map((handle, index) => ({ member: `handles.${index}.transport`, pool: ownPool(route, handle) })),
  ];
  for (const { member, pool } of pools) {
    // Without targets the transport is not used.
    const reason = pool?.transport != null && pool.upstreams.length > 0 ? whyNotSo(pool.transport, pool.tls) : null;
    if (reason !== null) return { member, reason };
  }
  return null;
}
