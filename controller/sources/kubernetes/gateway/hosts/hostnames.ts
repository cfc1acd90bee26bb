import { CATCH_ALL, type Domain } from '../../../../../shared/values/host.ts';

/** The host names of listeners and routes: `*.` stands for one label or more, and null for every host. */
export type Hostname = string | null;

/** The hosts that both match; undefined if there are none. */
export function intersect(a: Hostname, b: Hostname): Hostname | undefined {
  if (covers(a, b)) return b;
  return covers(b, a) ? a : undefined;
}

/** Whether every host of `inner` is one of `outer`. */
export function covers(outer: Hostname, inner: Hostname): boolean {
  if (outer === null || outer === inner) return true;
  return inner !== null && outer.startsWith('*.') && inner.length > outer.length - 1 && inner.endsWith(outer.slice(1));
}

/** The names that cover a name, the most specific one first: itself, its wildcards, and every host. */
export function coveringNames(name: Hostname): Hostname[] {
  if (name === null) return [null];
  const names: Hostname[] = [name];
  for (let dot = name.indexOf('.', name.startsWith('*.') ? 2 : 0); dot >= 0; dot = name.indexOf('.', dot + 1))
    names.push(`*${name.slice(dot)}`);
  return [...names, null];
}

/** As the domain of a route. */
export const domainOf = (name: Hostname): Domain => (name ?? CATCH_ALL) as Domain;
