import { AdminUnreachable } from '../../shared/api/admin-client.ts';
import { closest } from '../../shared/closest.ts';
import { exampleIn } from '../../shared/command-examples.ts';
import { NAME } from '../../shared/name.ts';
import { helpOf, readFlags, UsageError } from '../../shared/runtime/flags.ts';
import { sendToParent } from '../../shared/runtime/process/parent.ts';
import { CommandError, type Terminal } from './command/command.ts';
import { terminalOf } from './command/terminal.ts';
import { COMMANDS } from './commands.ts';

/** @returns the exit code: 0 done, 1 negative result, 2 usage error, 3–5 as documented for each command. */
async function main(argv: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = argv;
  if (name === 'help' && rest[0] !== undefined) return main([rest[0], '--help'], terminal);
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    terminal.out(help());
    return 0;
  }
  if (name === '--version' || name === '-v') return main(['version', ...rest], terminal);
  const entry = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!entry) {
    if (name.startsWith('-')) throw new UsageError(`${NAME}: the command comes before its flags, as in ${NAME} run ${argv.join(' ')}`);
    const close = closest(name, Object.keys(COMMANDS));
    throw new UsageError(`${NAME}: unknown command ${name}${close ? ` (did you mean ${close}?)` : ''}; ${NAME} help lists all commands`);
  }
  if (entry.raw) return (await entry.raw())(rest, terminal);
  if (!entry.load) throw new Error(`${name} cannot be run`);
  const command = await entry.load();
  const flags = readFlags(name, command.flags, rest, process.env);
  if (!flags.help) return command.run(flags, terminal);
  const flagLines = command.flags.length > 0 ? `\n${helpOf(command.flags)}\n` : '';
  terminal.out(`Usage: ${NAME} ${name} ${command.usage}\n\n${command.summary}\n${flagLines}${exampleIn(name)}`);
  return 0;
}

function help(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}\n`);
  return `Usage: ${NAME} COMMAND [flags]\n\n${lines.join('')}\nRun ${NAME} COMMAND --help for details.\n`;
}

const terminal = terminalOf(process);
main(process.argv.slice(2), terminal).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    const known = error instanceof UsageError || error instanceof CommandError || error instanceof AdminUnreachable;
    if (!known) throw error;
    const prefix = error.message.startsWith(NAME) ? '' : `${NAME} ${process.argv[2]}: `;
    terminal.err(`${prefix}${error.message}\n`);
    sendToParent({ kind: 'failed', reason: error.message });
    process.exitCode = error.exitCode;
  },
);
