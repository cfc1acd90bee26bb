import type { RouteSpec } from '../../shared/route.ts';

/** A route as JSON with sorted members: equal routes are equal text, however they were built. */
export function canonicalRoute(route: RouteSpec): string {
  const known = remembered.get(route);
  if (known !== undefined) return known;
  const text = canonical(route);
  remembered.set(route, text);
  return text;
}

/** Sources hand the same object again for what did not change. */
const remembered = new WeakMap<RouteSpec, string>();

/** JSON with sorted members and without undefined ones. */
export const canonical = (value: unknown): string => JSON.stringify(sorted(value));

/** A copy whose members stand in order: the engine writes it several times faster than we could. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const members = value as Readonly<Record<string, unknown>>;
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(members).sort()) copy[name] = sorted(members[name]);
  return copy;
}
