import { type TransportSpec, whyNotSo } from './transport.ts';

/** The targets of a site or of one of its blocks, and how they are spoken to. */
export type PoolSpec<U> = {
  readonly upstreams: readonly U[];
  readonly tls: boolean;
  readonly transport?: TransportSpec | null | undefined;
};

/** The pool that a block has for itself; null where it has its site's. What it does not say is as its site says it. */
export function ownPool<U>(route: PoolSpec<U>, { upstreams, tls, transport }: PoolSpec<U>): PoolSpec<U> | null {
  if (upstreams.length > 0) return { upstreams, tls, transport: transport === undefined ? route.transport : transport };
  return transport === undefined ? null : { upstreams: route.upstreams, tls: route.tls, transport };
}

/** A route, or as much of it as its pools are. */
type Pooled<U> = PoolSpec<U> & { readonly handles: readonly PoolSpec<U>[] };

/** Every pool of a route, its site's first. */
export const poolsIn = <U>(route: Pooled<U>): PoolSpec<U>[] => [route, ...route.handles.flatMap((handle) => ownPool(route, handle) ?? [])];

/** Which member of a route asks for a way to speak to its targets that there is not, and why; null where none does. */
export function transportProblem<U>(route: Pooled<U>): { readonly member: string; readonly reason: string } | null {
  const pools = [
    { member: 'transport', pool: route },
    ...route.handles.map((handle, index) => ({ member: `handles.${index}.transport`, pool: ownPool(route, handle) })),
  ];
  for (const { member, pool } of pools) {
    // Without targets there is nobody to be spoken to.
    const reason = pool?.transport != null && pool.upstreams.length > 0 ? whyNotSo(pool.transport, pool.tls) : null;
    if (reason !== null) return { member, reason };
  }
  return null;
}
