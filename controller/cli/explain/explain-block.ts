import { fileServerIn } from '../../../shared/policy/file-server/effective.ts';
import type { Explanation, FullRoute } from '../../../shared/wire/status.ts';

/** The site's block that handles the request, and the path that the upstream receives; null if the site has no blocks. */
export function describeBlock({ block, route, url, verdict, policies }: Explanation): string | null {
  const count = route?.handles.length ?? 0;
  if (block === null) return count === 0 || verdict.startsWith('404') ? null : `none of ${count} matches: the site itself responds`;
  const { name, stripped } = directiveOf(route, block.index, pathOf(url));
  const what = block.path === null ? `${name} (every path)` : `${name} ${block.path}`;
  const of = count > 1 ? `number ${block.index + 1} of ${count}` : 'the only block of the site';
  // Where other directives change the request too, the data plane's own explanation is more precise.
  const isSaid = policies.some(({ name: policy }) => policy === 'forwarded');
  return `${what}, ${of}${stripped === null || isSaid ? '' : `; the upstream sees ${stripped}`}`;
}

/** `stripped`: the path that is left when handle_path has stripped its prefix; null if nothing is stripped. */
function directiveOf(route: FullRoute | null, index: number, path: string): { name: string; stripped: string | null } {
  const handle = route?.handles[index];
  if (!handle?.strip_prefix || handle.path === null) return { name: 'handle', stripped: null };
  const prefix = handle.path.replace(/\/\*$/, '');
  const isServed = route !== null && fileServerIn(route, handle) !== null;
  const answersItself = isServed || handle.respond !== null || (handle.upstreams.length === 0 && route?.respond !== null);
  const stripped = answersItself || !path.startsWith(`${prefix}/`) ? null : path.slice(prefix.length);
  return { name: 'handle_path', stripped };
}

/** The path as it is sent; a URL object would change it. */
const pathOf = (url: string): string => /^[a-z]+:\/\/[^/]*([^?]*)/.exec(url)?.[1] ?? '/';
