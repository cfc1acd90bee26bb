import { fileServerIn } from '../../../shared/policy/file-server/effective.ts';
import type { Explanation, FullRoute } from '../../../shared/wire/status.ts';

/** The site's block that handles the request, and the path that the upstream receives; null if the site has no blocks. */
export function blockInWords({ block, route, url, verdict, policies }: Explanation): string | null {
  const count = route?.handles.length ?? 0;
  if (block === null) return count === 0 || verdict.startsWith('404') ? null : `none of ${count} matches: the site itself responds`;
  const { name, taken } = directiveOf(route, block.index, new URL(url).pathname);
  const what = block.path === null ? `${name} (every path)` : `${name} ${block.path}`;
  const of = count > 1 ? `number ${block.index + 1} of ${count}` : 'the only block of the site';
  // The data plane says it more precisely where other directives change the request, too.
  const isSaid = policies.some(({ name: policy }) => policy === 'forwarded');
  return `${what}, ${of}${taken === null || isSaid ? '' : `; the upstream sees ${taken}`}`;
}

/** `taken`: the path without the prefix stripped by handle_path, otherwise as it was sent. */
function directiveOf(route: FullRoute | null, index: number, path: string): { name: string; taken: string | null } {
  const handle = route?.handles[index];
  if (!handle?.strip_prefix || handle.path === null) return { name: 'handle', taken: null };
  const prefix = handle.path.replace(/\/\*$/, '');
  const isServed = route !== null && fileServerIn(route, handle) !== null;
  const answersItself = isServed || handle.respond !== null || (handle.upstreams.length === 0 && route?.respond !== null);
  const taken = answersItself || !path.startsWith(`${prefix}/`) ? null : path.slice(prefix.length);
  return { name: 'handle_path', taken };
}
