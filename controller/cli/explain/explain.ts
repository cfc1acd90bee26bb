import { NAME } from '../../../shared/name.ts';
import { type Flags, UsageError } from '../../../shared/runtime/flags.ts';
import type { Explanation } from '../../../shared/wire/status.ts';
import { clientOf, getJson, QUERY_FLAGS, wantsJson } from '../command/admin-query.ts';
import type { Command } from '../command/command.ts';
import { CONTROLLER_FLAG, DISCOVERING_SOURCES, type Discovered, NOTHING_DISCOVERED, queryDiscovered } from '../command/containers.ts';
import { describeExplanation } from './explanation-text.ts';

export const explain: Command = {
  usage: 'HOST[/PATH] [flags]',
  summary:
    "Shows what a request would get and why: host, route, block, policies, targets, certificate.\nIf it isn't routed, prints the reason and exits with 1.",
  flags: [...QUERY_FLAGS, CONTROLLER_FLAG],
  run: async (flags, terminal) => {
    const [url, more] = flags.positionals;
    if (url === undefined) throw new UsageError(`${NAME} explain: needs HOST[/PATH]`);
    if (more !== undefined) throw new UsageError(`${NAME} explain: takes one HOST[/PATH], got "${more}" as well`);
    const answer = await getJson<Explanation>(clientOf(flags), `/explain?url=${encodeURIComponent(url)}`, 'verdict');
    const { containers, clusterObjects } = await discoveredFor(flags, answer);
    const all = { ...answer, containers, cluster_objects: clusterObjects };
    if (wantsJson(flags)) terminal.out(`${JSON.stringify(all, null, 2)}\n`);
    else terminal.out(describeExplanation(terminal, answer, containers, clusterObjects));
    return answer.routed ? 0 : 1;
  },
};

/** Objects that serve or want this host. The controller is not queried if another source serves it; an unreachable one is not an error. */
async function discoveredFor(flags: Flags, { url, route, matched }: Explanation): Promise<Exclude<Discovered, { unknown: string }>> {
  const isDiscovered = (source: string | null | undefined) => DISCOVERING_SOURCES.has(source ?? '');
  const mayBeWanted = !route || isDiscovered(route.source) || isDiscovered(route.overrides?.source);
  const discovered = mayBeWanted ? await queryDiscovered(flags) : NOTHING_DISCOVERED;
  if ('unknown' in discovered) return { containers: [], clusterObjects: [] };
  const wanted = new Set([matched, hostOf(url)]);
  const wants = ({ domains }: { readonly domains: readonly string[] }) => domains.some((domain) => wanted.has(domain));
  return { containers: discovered.containers.filter(wants), clusterObjects: discovered.clusterObjects.filter(wants) };
}

const hostOf = (url: string): string => new URL(url).hostname.replace(/\.$/, '');
