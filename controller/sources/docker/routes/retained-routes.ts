import type { RouteSpec } from '../../../../shared/route.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';

/** A domain whose last container went stays known at least this long (ms). */
export const LEAST_MS = 10_000;

type Kept = { readonly route: RouteSpec; readonly cancel: () => void };

/**
 * Domains whose last container went. They stay known for their hold time, so that requests wait for the
 * container that replaces it, or hear 503 and not 404.
 */
export class Lingering {
  private readonly clock: Clock;
  private readonly over: () => void;
  private readonly kept = new Map<string, Kept>();
  private last: readonly RouteSpec[] = [];

  /** `over` hears that a domain's time has come. */
  constructor(clock: Clock, over: () => void) {
    this.clock = clock;
    this.over = over;
  }

  /** Adds to the routes of containers that are there those of domains whose containers went, without targets. */
  with(routes: readonly RouteSpec[]): RouteSpec[] {
    const present = new Set<string>(routes.map(({ domain }) => domain));
    for (const [domain, { cancel }] of this.kept) {
      if (!present.has(domain)) continue;
      cancel();
      this.kept.delete(domain);
    }
    for (const route of this.last) if (!present.has(route.domain) && !this.kept.has(route.domain)) this.keep(route);
    this.last = routes;
    return [...routes, ...[...this.kept.values()].map(({ route }) => route)];
  }

  stop(): void {
    for (const { cancel } of this.kept.values()) cancel();
    this.kept.clear();
    this.last = [];
  }

  private keep(route: RouteSpec): void {
    const { domain } = route;
    const cancel = this.clock.after(Math.max(LEAST_MS, (route.hold_secs ?? 0) * 1_000), () => {
      this.kept.delete(domain);
      this.over();
    });
    this.kept.set(domain, { route: { ...route, upstream: null, upstreams: [] }, cancel });
  }
}
