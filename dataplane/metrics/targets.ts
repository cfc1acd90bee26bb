import { Counter, Gauge, type Registry } from 'prom-client';
import { MAX_DOMAIN_LABELS, OVERFLOW_LABEL } from '../../shared/domain-labels.ts';
import { METRIC_PREFIX } from '../../shared/name.ts';

/** Maximum number of individually listed targets; those out of rotation come first. */
export const MAX_UPSTREAMS = 1_000;

/** An address, whose targets are added up. `healthy`: one of them is in rotation. `failures` are counted since the start. */
export type AddressLoad = { readonly address: string; readonly healthy: boolean; readonly inFlight: number; readonly failures: number };
/** Targets of a route by their state, and how many of its pools have none in rotation. */
export type RouteLoad = { readonly domain: string; readonly inRotation: number; readonly out: number; readonly poolsDown: number };
export type TargetsReading = { readonly addresses: Iterable<AddressLoad>; readonly routes: Iterable<RouteLoad> };

/** Registers the metrics of targets and of the pools that they form. @returns a function that updates them. */
export function registerTargets(registry: Registry): (reading: TargetsReading) => void {
  const showAddresses = registerAddresses(registry);
  const showRoutes = registerRoutes(registry);
  return ({ addresses, routes }) => {
    showAddresses(addresses);
    showRoutes(routes);
  };
}

function registerAddresses(registry: Registry): (addresses: Iterable<AddressLoad>) => void {
  const options = { labelNames: ['address'], registers: [registry] };
  const healthy = new Gauge({
    ...options,
    name: `${METRIC_PREFIX}upstream_healthy`,
    help: `Whether a target is in rotation; at most ${MAX_UPSTREAMS} targets, those out of rotation first.`,
  });
  const inFlight = new Gauge({
    ...options,
    name: `${METRIC_PREFIX}upstream_requests_in_flight`,
    help: 'Requests in flight to a target, of the same targets.',
  });
  const failures = new Counter({
    ...options,
    name: `${METRIC_PREFIX}upstream_attempt_failures_total`,
    help: 'Attempts that failed through the fault of a target, including those that were retried elsewhere; of the same targets.',
  });
  return (addresses) => {
    for (const metric of [healthy, inFlight, failures]) metric.reset();
    for (const one of troubledFirst(addresses, ({ healthy }) => !healthy, MAX_UPSTREAMS).listed) {
      const { address } = one;
      healthy.set({ address }, one.healthy ? 1 : 0);
      inFlight.set({ address }, one.inFlight);
      failures.inc({ address }, one.failures);
    }
  };
}

function registerRoutes(registry: Registry): (routes: Iterable<RouteLoad>) => void {
  const targets = new Gauge({
    name: `${METRIC_PREFIX}route_targets`,
    help: `Targets of a route by state, those of its path blocks included; ${MAX_DOMAIN_LABELS} routes, those with a pool that is down first, and the sum of all others.`,
    labelNames: ['domain', 'state'],
    registers: [registry],
  });
  const down = new Gauge({
    name: `${METRIC_PREFIX}route_pools_down`,
    help: 'Pools of a route that have no target in rotation, of the same routes.',
    labelNames: ['domain'],
    registers: [registry],
  });
  return (routes) => {
    targets.reset();
    down.reset();
    const add = (domain: string, { inRotation, out, poolsDown }: RouteLoad) => {
      targets.inc({ domain, state: 'in_rotation' }, inRotation);
      targets.inc({ domain, state: 'out' }, out);
      down.inc({ domain }, poolsDown);
    };
    const { listed, others } = troubledFirst(routes, ({ poolsDown }) => poolsDown > 0, MAX_DOMAIN_LABELS);
    for (const route of listed) add(route.domain, route);
    if (others.length > 0) add(OVERFLOW_LABEL, others.reduce(sum));
  };
}

const sum = (one: RouteLoad, other: RouteLoad): RouteLoad => ({
  domain: OVERFLOW_LABEL,
  inRotation: one.inRotation + other.inRotation,
  out: one.out + other.out,
  poolsDown: one.poolsDown + other.poolsDown,
});

/** Up to the maximum, with those in trouble first so that none of them is cut off by others. */
function troubledFirst<T>(all: Iterable<T>, isTroubled: (one: T) => boolean, most: number): { listed: T[]; others: T[] } {
  const troubled: T[] = [];
  const others: T[] = [];
  for (const one of all) (isTroubled(one) ? troubled : others).push(one);
  const sorted = [...troubled, ...others];
  return { listed: sorted.slice(0, most), others: sorted.slice(most) };
}
