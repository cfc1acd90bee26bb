import type { RouteSpec } from '../../../../shared/route.ts';

/** The targets that may get requests. */
export function targetsIn(routes: readonly RouteSpec[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (const { upstreams, handles } of routes)
    for (const pool of [upstreams, ...handles.map((handle) => handle.upstreams)])
      for (const { address, state } of pool) if (state === 'healthy') found.add(address);
  return found;
}

/** Whether one of them is gone: any delay would send requests to a target that is going away. */
export function lostTargets(before: ReadonlySet<string>, now: ReadonlySet<string>): boolean {
  for (const address of before) if (!now.has(address)) return true;
  return false;
}
