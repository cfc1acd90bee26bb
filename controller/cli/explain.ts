import { NAME } from '../../shared/name.ts';
import { UsageError } from '../../shared/runtime/flags.ts';
import type { Explanation } from '../../shared/wire/status.ts';
import { ASKING_FLAGS, ask, clientOf, wantsJson } from './ask.ts';
import type { Command, Terminal } from './command.ts';
import { plain, styled } from './terminal.ts';

export const explain: Command = {
  usage: 'HOST[/PATH] [flags]',
  summary: 'Tells what a visitor would get, and why: host, route, block, policies, targets, certificate.\nNot routed: the reason, exit 1.',
  flags: ASKING_FLAGS,
  run: async (flags, terminal) => {
    const [url, more] = flags.positionals;
    if (url === undefined) throw new UsageError(`${NAME} explain: which HOST[/PATH]?`);
    if (more !== undefined) throw new UsageError(`${NAME} explain: one HOST[/PATH] at a time, got "${more}" too`);
    const answer = await ask<Explanation>(clientOf(flags), `/explain?url=${encodeURIComponent(url)}`);
    terminal.out(wantsJson(flags) ? `${JSON.stringify(answer, null, 2)}\n` : inWords(terminal, answer));
    return answer.routed ? 0 : 1;
  },
};

function inWords(
  terminal: Terminal,
  { url, verdict, routed, route, matched, block, policies, targets, certificate, problems }: Explanation,
): string {
  const lines: [string, string][] = [[styled(terminal, 'bold', url), styled(terminal, routed ? 'green' : 'red', plain(verdict))]];
  if (route) {
    const owner = route.controller === null ? 'posted by hand' : `applied by ${route.controller}`;
    lines.push([
      'route',
      `${matched ?? route.domain} from ${route.origin ?? route.source ?? 'the Admin API'}, ${owner}, since ${route.since}`,
    ]);
    if (route.overrides) lines.push(['hides', `${route.overrides.origin ?? route.overrides.source ?? 'a route'} of the same domain`]);
  }
  if (block)
    lines.push(['block', block.path === null ? `number ${block.index + 1}, every path` : `number ${block.index + 1}, ${block.path}`]);
  for (const policy of policies) lines.push(['policy', `${policy.name}: ${policy.verdict}`]);
  for (const target of targets)
    lines.push([
      'target',
      `${target.address}: ${target.healthy ? 'healthy' : `out of rotation, ${target.reason ?? 'no reason known'}`}, ${target.in_flight} in flight`,
    ]);
  if (routed) lines.push(['certificate', certificate]);
  for (const problem of problems) lines.push(['problem', `${problem.origin}: ${problem.message} (since ${problem.since})`]);
  const [first, ...rest] = lines as [[string, string], ...[string, string][]];
  return [`${first[0]}: ${first[1]}`, ...rest.map(([name, text]) => `  ${name.padEnd(12)}${plain(text)}`), ''].join('\n');
}
