import type { PoolOptions } from './pool-options.ts';
import { faultOfTransport } from './transport.ts';

/** The targets of a site or of one of its blocks, with their options. */
export type PoolSpec<U> = { readonly upstreams: readonly U[]; readonly tls: boolean } & PoolOptions;

/** Options that a block inherits from its site even if it has targets of its own. */
const OF_SITE = ['transport', 'health', 'passive_health'] as const satisfies readonly (keyof PoolOptions)[];
/** Options that belong to the site's targets. */
const OF_TARGETS = [
  'lb_policy',
  'lb_retries',
  'lb_retry_statuses',
  'lb_retry_budget',
  'slow_start_secs',
  'max_in_flight',
] as const satisfies readonly (keyof PoolOptions)[];
const POOL_OPTIONS: readonly (keyof PoolOptions)[] = [...OF_SITE, ...OF_TARGETS];

/**
 * A block's own pool; null if the block uses its site's pool. A block inherits the options that it leaves out, except those that belong to
 * the site's targets.
 */
export function ownPool<U>(route: PoolSpec<U>, block: PoolSpec<U>): PoolSpec<U> | null {
  if (block.upstreams.length > 0)
    return { upstreams: block.upstreams, tls: block.tls, ...merged(block, route, OF_SITE), ...pick(block, OF_TARGETS) };
  if (POOL_OPTIONS.every((option) => block[option] === undefined)) return null;
  return { upstreams: route.upstreams, tls: route.tls, ...merged(block, route, POOL_OPTIONS) };
}

const pick = (from: PoolOptions, options: readonly (keyof PoolOptions)[]): PoolOptions =>
  Object.fromEntries(options.map((option) => [option, from[option]]));

/** The options of the block, or of the site where the block has none. */
const merged = (block: PoolOptions, site: PoolOptions, options: readonly (keyof PoolOptions)[]): PoolOptions =>
  Object.fromEntries(options.map((option) => [option, block[option] === undefined ? site[option] : block[option]]));

/** The targets of TLS connections that are passed through. */
type Passthrough<U> = Pick<PoolOptions, 'lb_policy' | 'lb_retries' | 'passive_health'> & { readonly upstreams: readonly U[] };

type HasMirrors<U> = { readonly mirrors?: readonly PoolSpec<U>[] | null | undefined };

/** The part of a route that describes its pools. */
type Pooled<U> = PoolSpec<U> & {
  readonly handles: readonly (PoolSpec<U> & HasMirrors<U>)[];
  readonly tls_passthrough?: readonly Passthrough<U>[] | null | undefined;
} & HasMirrors<U>;

/** All pools of a route, its site's first. */
export const poolsIn = <U>(route: Pooled<U>): PoolSpec<U>[] => [
  route,
  ...route.handles.flatMap((handle) => ownPool(route, handle) ?? []),
  ...[route, ...route.handles].flatMap(({ mirrors }) => mirrors ?? []),
  ...(route.tls_passthrough ?? []).map(passthroughPool),
];

export const passthroughPool = <U>({ upstreams, lb_policy, lb_retries, passive_health }: Passthrough<U>): PoolSpec<U> => ({
  upstreams,
  tls: false,
  lb_policy,
  lb_retries,
  passive_health,
});

/** All targets that a route lists, also those of its blocks. */
export const targetsIn = <U>({ upstreams, mirrors, handles = [], tls_passthrough }: ListedRoute<U>): U[] =>
  [{ upstreams, mirrors }, ...handles, ...(tls_passthrough ?? [])].flatMap((part: ListedPart<U>) => [
    ...(part.upstreams ?? []),
    ...(part.mirrors ?? []).flatMap((mirror) => mirror.upstreams ?? []),
  ]);

type Targets<U> = { readonly upstreams?: readonly U[] | undefined };
type ListedPart<U> = Targets<U> & { readonly mirrors?: readonly Targets<U>[] | null | undefined };
type ListedRoute<U> = ListedPart<U> & {
  readonly handles?: readonly ListedPart<U>[] | undefined;
  readonly tls_passthrough?: readonly Targets<U>[] | null | undefined;
};

/** The first member with an impossible transport, and why; null if all are possible. */
export function transportProblem<U>(route: Pooled<U>): { readonly member: string; readonly reason: string } | null {
  const pools = [
    { member: 'transport', pool: route },
    ...route.handles.map((handle, index) => ({ member: `handles.${index}.transport`, pool: ownPool(route, handle) })),
  ];
  for (const { member, pool } of pools) {
    // Without targets the transport is not used.
    const reason = pool?.transport != null && pool.upstreams.length > 0 ? faultOfTransport(pool.transport, pool.tls) : null;
    if (reason !== null) return { member, reason };
  }
  return null;
}
