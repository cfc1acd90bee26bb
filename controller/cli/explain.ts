import type { AdminClient } from '../../shared/admin-client.ts';
import { NAME } from '../../shared/name.ts';
import type { PublishedRoute } from '../../shared/route.ts';
import { UsageError } from '../../shared/runtime/flags.ts';
import type { Explanation } from '../../shared/wire/status.ts';
import { ASKING_FLAGS, ask, clientOf, wantsJson } from './ask.ts';
import type { Command } from './command.ts';
import { explanationInWords } from './explain-words.ts';
import { nearDomain } from './near-domain.ts';

export const explain: Command = {
  usage: 'HOST[/PATH] [flags]',
  summary: 'Tells what a visitor would get, and why: host, route, block, policies, targets, certificate.\nNot routed: the reason, exit 1.',
  flags: ASKING_FLAGS,
  run: async (flags, terminal) => {
    const [url, more] = flags.positionals;
    if (url === undefined) throw new UsageError(`${NAME} explain: which HOST[/PATH]?`);
    if (more !== undefined) throw new UsageError(`${NAME} explain: one HOST[/PATH] at a time, got "${more}" too`);
    const client = clientOf(flags);
    const answer = await ask<Explanation>(client, `/explain?url=${encodeURIComponent(url)}`);
    if (wantsJson(flags)) terminal.out(`${JSON.stringify(answer, null, 2)}\n`);
    else terminal.out(explanationInWords(terminal, answer, answer.routed ? null : await near(client, answer)));
    return answer.routed ? 0 : 1;
  },
};

/** A hint, and no reason to fail: the limit may have been reached by the question itself. */
async function near(client: AdminClient, { url }: Explanation): Promise<string | null> {
  const { status, text } = await client.request('GET', '/routes');
  if (status !== 200) return null;
  const routes = JSON.parse(text) as PublishedRoute[];
  return nearDomain(
    new URL(url).hostname.replace(/\.$/, ''),
    routes.map(({ domain }) => domain),
  );
}
