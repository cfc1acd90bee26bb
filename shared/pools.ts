import { type TransportSpec, whyNotSo } from './transport.ts';

/** The targets of a site or of one of its blocks, and how to connect to them. */
export type PoolSpec<U> = {
  readonly upstreams: readonly U[];
  readonly tls: boolean;
  readonly transport?: TransportSpec | null | undefined;
};

/** A block's own pool, with the site's values for what it leaves out; null if the block uses its site's pool. */
export function ownPool<U>(route: PoolSpec<U>, { upstreams, tls, transport }: PoolSpec<U>): PoolSpec<U> | null {
  if (upstreams.length > 0) return { upstreams, tls, transport: transport === undefined ? route.transport : transport };
  return transport === undefined ? null : { upstreams: route.upstreams, tls: route.tls, transport };
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
