import { NAME } from '../../../shared/name.ts';
import { type Flags, UsageError } from '../../../shared/runtime/flags.ts';
import type { Explanation } from '../../../shared/wire/status.ts';
import type { ContainerStatus } from '../../status/containers.ts';
import { ASKING_FLAGS, ask, clientOf, wantsJson } from '../command/ask.ts';
import type { Command } from '../command/command.ts';
import { askContainers, CONTROLLER_FLAG } from '../command/containers.ts';
import { explanationInWords } from './explain-words.ts';

export const explain: Command = {
  usage: 'HOST[/PATH] [flags]',
  summary:
    "Shows what a request would get and why: host, route, block, policies, targets, certificate.\nIf it isn't routed, prints the reason and exits with 1.",
  flags: [...ASKING_FLAGS, CONTROLLER_FLAG],
  run: async (flags, terminal) => {
    const [url, more] = flags.positionals;
    if (url === undefined) throw new UsageError(`${NAME} explain: needs HOST[/PATH]`);
    if (more !== undefined) throw new UsageError(`${NAME} explain: takes one HOST[/PATH], got "${more}" as well`);
    const answer = await ask<Explanation>(clientOf(flags), `/explain?url=${encodeURIComponent(url)}`);
    const containers = await containersOf(flags, answer);
    if (wantsJson(flags)) terminal.out(`${JSON.stringify({ ...answer, containers }, null, 2)}\n`);
    else terminal.out(explanationInWords(terminal, answer, containers));
    return answer.routed ? 0 : 1;
  },
};

/** Containers that serve or want this host. The controller is not queried if another source serves it; an unreachable one is not an error. */
async function containersOf(flags: Flags, { url, route, matched }: Explanation): Promise<readonly ContainerStatus[]> {
  if (route && route.source !== 'docker' && route.overrides?.source !== 'docker') return [];
  const containers = await askContainers(flags);
  const wanted = new Set([matched, hostOf(url)]);
  return 'found' in containers ? containers.found.filter(({ domains }) => domains.some((domain) => wanted.has(domain))) : [];
}

const hostOf = (url: string): string => new URL(url).hostname.replace(/\.$/, '');
