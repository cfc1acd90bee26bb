import type { RouteSpec } from '../../../../shared/route.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';

/** A domain whose last container was removed stays known at least this long (ms). */
export const MIN_RETENTION_MS = 10_000;

type Retained = { readonly route: RouteSpec; readonly cancel: () => void };

/**
 * Domains whose last container was removed. They stay known for their hold time, so that requests wait for a replacement, or get 503
 * instead of 404.
 */
export class RetainedRoutes {
  private readonly clock: Clock;
  private readonly expired: () => void;
  private readonly retained = new Map<string, Retained>();
  private last: readonly RouteSpec[] = [];

  /** `expired` is called when the time of a domain is over. */
  constructor(clock: Clock, expired: () => void) {
    this.clock = clock;
    this.expired = expired;
  }

  /** What an earlier run may have served: the domains that are missing afterwards are retained. */
  begin(routes: readonly RouteSpec[]): void {
    this.last = routes;
  }

  /** Adds routes without targets for the domains of removed containers. */
  merge(routes: readonly RouteSpec[]): RouteSpec[] {
    const present = new Set<string>(routes.map(({ domain }) => domain));
    for (const [domain, { cancel }] of this.retained) {
      if (!present.has(domain)) continue;
      cancel();
      this.retained.delete(domain);
    }
    for (const route of this.last) if (!present.has(route.domain) && !this.retained.has(route.domain)) this.retain(route);
    this.last = routes;
    return [...routes, ...[...this.retained.values()].map(({ route }) => route)];
  }

  stop(): void {
    for (const { cancel } of this.retained.values()) cancel();
    this.retained.clear();
    this.last = [];
  }

  private retain(route: RouteSpec): void {
    const { domain } = route;
    const cancel = this.clock.after(Math.max(MIN_RETENTION_MS, (route.hold_secs ?? 0) * 1_000), () => {
      this.retained.delete(domain);
      this.expired();
    });
    this.retained.set(domain, { route: { ...route, upstream: null, upstreams: [] }, cancel });
  }
}
