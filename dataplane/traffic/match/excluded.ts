import type { RouteSpec } from '../../../shared/route.ts';
import { type Cidr, matcherOf } from '../../../shared/values/cidr.ts';
import { compilePattern, foldsPaths } from './pattern.ts';

/** The maximum number of addresses for which the result is cached. */
const REMEMBERED = 4_096;

/** Whose requests a site does not count as those of people (`analytics on { exclude … }`); null for none. */
export function compileExcluded(route: RouteSpec): ((address: string, path: string) => boolean) | null {
  const excluded = route.analytics?.exclude ?? [];
  if (excluded.length === 0) return null;
  const patterns = excluded.filter((one) => one.startsWith('/')).map((text) => compilePattern(text, foldsPaths(route)));
  const isExcluded = remembering(matcherOf(excluded.filter((one) => !one.startsWith('/')) as Cidr[]));
  return (address, path) => patterns.some((pattern) => pattern.matches(path)) || isExcluded(address);
}

/** Comparing the ranges takes 0.25 µs, nearly as long as the rest of the count. */
function remembering(matches: (address: string) => boolean): (address: string) => boolean {
  const known = new Map<string, boolean>();
  return (address) => {
    let found = known.get(address);
    if (found === undefined) {
      found = matches(address);
      if (known.size >= REMEMBERED) known.clear();
      known.set(address, found);
    }
    return found;
  };
}
