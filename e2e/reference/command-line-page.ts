import type { Entry } from '../../controller/cli/command.ts';
import { COMMANDS } from '../../controller/cli/commands.ts';
import { CONTROLLER_FLAGS } from '../../controller/flags.ts';
import { DATAPLANE_FLAGS } from '../../dataplane/settings/flags.ts';
import { COMMAND_EXAMPLES } from '../../shared/command-examples.ts';
import { envTwin, type Flag } from '../../shared/runtime/flags.ts';
import { run } from '../harness/process.ts';

/** Flags of the commands that are processes of their own. */
const PROCESS_FLAGS: Readonly<Record<string, readonly Flag[]>> = { dataplane: DATAPLANE_FLAGS, controller: CONTROLLER_FLAGS };

/** docs/reference/command-line.md, out of the tables that the programs read their arguments by. */
export async function commandLinePage(): Promise<string> {
  const sections: string[] = [];
  for (const [name, entry] of Object.entries(COMMANDS)) sections.push(`${await section(name, entry)}${exampleOf(name)}`);
  return `${HEAD}\n${overview()}\n${TAIL}\n${sections.join('\n')}`;
}

const HEAD = `# The command line

This page is made from the tables that the programs read their arguments by: \`sh scripts/reference.sh\` writes it.
\`sluice COMMAND --help\` prints the same.
`;

function overview(): string {
  const rows = Object.entries(COMMANDS).map(([name, { summary }]) => `| [\`${name}\`](#${name}) | ${summary} |\n`);
  return `| command | |\n|---|---|\n${rows.join('')}`;
}

const TAIL = `## Flags and the environment

Every flag has an environment variable: \`--http-port\` is \`SLUICE_HTTP_PORT\`. A flag wins over the environment, the environment over the
globals of the config file, those over the default; \`GET /settings\` tells which one it was. A value follows its flag after a space or \`=\`.
A switch in the environment is \`1\`, \`true\`, \`0\` or \`false\`; a list separates its values by commas. Flags that are not available yet are
refused, never ignored. \`SLUICE_ADMIN_TOKEN\` has no flag, since flags show in the list of processes: it is the token of the Admin API, for
the data plane and for whoever asks it. With \`NO_COLOR\`, or where the output is no terminal, there is no colour.

## Exit codes

| code | |
|---|---|
| 0 | done; for \`diff\`: nothing would change; for \`status\`: nothing is wrong |
| 1 | failure: errors in the file, a host that is not routed, a rejected request |
| 2 | usage error: an unknown command or flag, an invalid value, a missing file, a port in use |
| 3 | \`diff\`: something would change; \`status\`: something is wrong |
| 4 | \`reload\`: too soon after the last one |
| 5 | the Admin API cannot be reached, or refuses the token |

What went wrong is one line on stderr, but for the mistakes of a config file, which come all at once.
`;

async function section(name: string, entry: Entry): Promise<string> {
  const processFlags = PROCESS_FLAGS[name];
  if (entry.load) {
    const { usage, summary, flags } = await entry.load();
    return `## ${name}\n\n\`${`sluice ${name} ${usage}`.trim()}\`\n\n${summary}\n${flagTable(flags)}`;
  }
  if (processFlags) return `## ${name}\n\n\`sluice ${name} [flags]\`\n\n${sentence(entry.summary)}\n${flagTable(processFlags)}`;
  if (name === 'run')
    return `## run\n\n\`sluice run [flags]\`\n\n${sentence(entry.summary)}\nIt takes the flags of [controller](#controller) and of [dataplane](#dataplane).\n`;
  const { stdout } = await run([name, '--help']);
  return `## ${name}\n\n\`\`\`\n${stdout.trim()}\n\`\`\`\n`;
}

function exampleOf(name: string): string {
  const example = COMMAND_EXAMPLES[name];
  if (example === undefined) throw new Error(`${name} has no example`);
  return `\n\`\`\`sh\n${example}\n\`\`\`\n`;
}

function flagTable(flags: readonly Flag[]): string {
  if (flags.length === 0) return '';
  const rows = flags
    .filter(({ unavailable }) => !unavailable)
    .map((flag) => `| \`${written(flag)}\` | \`${envTwin(flag.name)}\` | ${cell(about(flag))} | ${cell(flag.default ?? '')} |\n`);
  return `\n| flag | environment | | default |\n|---|---|---|---|\n${rows.join('')}`;
}

function written({ name, kind, placeholder = 'VALUE' }: Flag): string {
  const value = placeholder.replaceAll('|', '\\|');
  return kind === 'switch' ? `--${name}` : kind === 'optional' ? `--${name} [${value}]` : `--${name} ${value}`;
}

const about = ({ help, kind }: Flag): string => `${help}${kind === 'list' && !help.includes('repeatable') ? '; repeatable' : ''}`;

const cell = (text: string): string => text.replaceAll('|', '\\|');

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
