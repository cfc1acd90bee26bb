import type { RouteSpec } from '../../../../shared/route.ts';
import type { TargetReport } from '../../../../shared/wire/apply.ts';

/**
 * Containers that stopped responding while the engine could not be listed. An engine that crashed restarts its containers with other
 * addresses before it can be listed again, so what responds at the address of one of them may be another one.
 */
export class LostTargets {
  private readonly ids = new Set<string>();

  /** @returns whether it is another one. One that responds again remains lost. */
  add({ id, healthy }: TargetReport, routes: readonly RouteSpec[]): boolean {
    const isNew =
      id !== undefined && !healthy && !this.ids.has(id) && routes.some(({ upstreams }) => upstreams.some((one) => one.id === id));
    if (isNew) this.ids.add(id);
    return isNew;
  }

  /** The routes without requests for them. */
  leaveOut(routes: readonly RouteSpec[]): RouteSpec[] {
    return routes.map((route) => {
      if (!route.upstreams.some(({ id }) => id !== undefined && this.ids.has(id))) return route;
      const upstreams = route.upstreams.map((one) =>
        one.id !== undefined && this.ids.has(one.id) ? { ...one, state: 'unhealthy' as const } : one,
      );
      return { ...route, upstreams };
    });
  }

  /** The engine has been listed. */
  clear(): void {
    this.ids.clear();
  }
}
