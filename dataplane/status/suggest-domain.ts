import { closest } from '../../shared/closest.ts';
import { wildcardOf } from '../../shared/values/host.ts';

/** Suggests a routed domain for a host that is not routed; null if none is similar. `domains`: all routed ones. */
export function suggestDomain(host: string, domains: readonly string[]): string | null {
  if (domains.length === 0) return 'there are no routes: status says whether a controller is connected';
  const known = new Set(domains);
  const wildcard = wildcardsAbove(host).find((domain) => known.has(domain));
  if (wildcard !== undefined) return `${wildcard} is routed; a wildcard matches only one label`;
  const bare = host.startsWith('www.') ? host.slice('www.'.length) : `www.${host}`;
  const near = known.has(bare) ? bare : closest(host, domains);
  return near === undefined ? null : `${near} is routed`;
}

/** `*.b.c` and `*.c` for `a.x.b.c`: wildcards that would match if they stood for several labels. */
function wildcardsAbove(host: string): string[] {
  const above: string[] = [];
  for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) above.push(`*${host.slice(dot)}`);
  return above.filter((domain) => domain !== wildcardOf(host));
}
