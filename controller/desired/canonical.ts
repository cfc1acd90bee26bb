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
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`);
  return `{${members.join(',')}}`;
}
