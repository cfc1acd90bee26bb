import type { RouteSpec } from '../../shared/route.ts';

/** A route as JSON with sorted members: equal routes have equal text, regardless of member order. */
export function canonicalRoute(route: RouteSpec): string {
  const known = remembered.get(route);
  if (known !== undefined) return known;
  const text = canonical(route);
  remembered.set(route, text);
  return text;
}

/** Caches by object, since sources reuse the objects of unchanged routes. */
const remembered = new WeakMap<RouteSpec, string>();

/** JSON with sorted members and without undefined ones. */
export const canonical = (value: unknown): string => JSON.stringify(sorted(value));

/** A copy with sorted members, because JSON.stringify is several times faster than custom code. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const members = value as Readonly<Record<string, unknown>>;
  const copy: Record<string, unknown> = {};
  for (const name of Object.keys(members).sort()) copy[name] = sorted(members[name]);
  return copy;
}
