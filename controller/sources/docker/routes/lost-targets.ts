import type { RouteSpec } from '../../../../shared/route.ts';

/**
 * Containers that stopped responding, or that were about to stop, while the engine could not be listed. An engine that ended restarts its
 * containers with other addresses before it can be listed again, so what responds at the address of one of them may be another one.
 */
export class LostTargets {
  private readonly ids = new Set<string>();

  /** @returns the ones that are new and in the routes. One that responds again remains lost. */
  add(lost: Iterable<string>, routes: readonly RouteSpec[]): string[] {
    const used = new Set(routes.flatMap(({ upstreams }) => upstreams.map(({ id }) => id)));
    const added = [...lost].filter((id) => !this.ids.has(id) && used.has(id));
    for (const id of added) this.ids.add(id);
    return added;
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
