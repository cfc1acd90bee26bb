import type { RouteSpec, UpstreamSpec } from '../../shared/route.ts';
import { type PoolSpec, poolsIn } from '../../shared/upstreams/pools.ts';
import { type TransportSpec, transportName } from '../../shared/upstreams/transport.ts';
import { certificateName } from '../../shared/values/address.ts';
import { activeCheck, checkOf, type HealthCheck } from '../ledger/health-checks.ts';

/** Consecutive failures that take a target out of rotation; the default of routes. */
const FAILURES_TO_LEAVE = 2;

/** A check of a target as one route wants it. */
export type WantedCheck = {
  readonly check: HealthCheck;
  readonly address: string;
  readonly tls: boolean;
  readonly id: string | null;
  /** The name that the target's certificate must be valid for; null without TLS. */
  readonly serverName: string | null;
  readonly transport: TransportSpec | null;
  /** Whether the check runs now; otherwise its result is kept. */
  readonly active: boolean;
  /** Milliseconds from one run to the next, and the timeout for a response. Probes need neither. */
  readonly intervalMs: number;
  readonly timeoutMs: number;
  /** How many results in a row bring a target back, or take it out. */
  readonly passes: number;
  readonly fails: number;
};

/** The checks that a route wants. The route was validated before it was published. */
export function wantedChecks(json: string): WantedCheck[] {
  const route: RouteSpec = JSON.parse(json);
  return poolsIn(route).flatMap((pool) => pool.upstreams.flatMap((upstream) => wantedFor(route, upstream, pool) ?? []));
}

function wantedFor({ domain }: RouteSpec, upstream: UpstreamSpec, { tls, transport, health }: PoolSpec<UpstreamSpec>): WantedCheck | null {
  const { address, id = null } = upstream;
  const active = activeCheck(domain, upstream, tls, health, transport);
  // Without a health check, only a target with an id can have been probed earlier.
  if (active === null && health == null && id === null) return null;
  return {
    check: active ?? checkOf(domain, upstream, tls, health, false, transport),
    address,
    tls,
    id,
    serverName: tls ? (transport?.server_name ?? certificateName(address, domain)) : null,
    transport: transportName(transport) === '' ? null : (transport ?? null),
    active: active !== null,
    intervalMs: (health?.interval_secs ?? 0) * 1_000,
    timeoutMs: (health?.timeout_secs ?? 0) * 1_000,
    passes: health?.passes ?? 1,
    fails: health?.fails ?? FAILURES_TO_LEAVE,
  };
}
