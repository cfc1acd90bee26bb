import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { closest } from '../../../shared/closest.ts';
import { NAME } from '../../../shared/name.ts';
import { UsageError } from '../../../shared/runtime/flags.ts';
import type { Command, CommandEntry } from '../command/command.ts';
import { bashCompletion } from './bash.ts';
import { fishCompletion } from './fish.ts';
import { type CommandWords, flagWords, flagWordsIn } from './words.ts';
import { zshCompletion } from './zsh.ts';

const SHELLS: Readonly<Record<string, (commands: readonly CommandWords[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};
const NAMES = Object.keys(SHELLS);

/** `commands` by name, including this one. */
export const completionOf = (commands: Readonly<Record<string, CommandEntry>>): Command => ({
  usage: 'SHELL',
  summary: `Prints shell completion for commands and flags: ${NAMES.join(', ')}.\nTo try it in bash: source <(${NAME} completion bash)`,
  flags: [],
  positionals: NAMES,
  run: async (flags, terminal) => {
    const [shell, more] = flags.positionals;
    if (shell === undefined) throw new UsageError(`${NAME} completion: needs a shell: ${NAMES.join(', ')}`);
    if (more !== undefined) throw new UsageError(`${NAME} completion: takes one shell, got "${more}" as well`);
    const write = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
    if (write === undefined) {
      const meant = closest(shell, NAMES);
      throw new UsageError(
        `${NAME} completion: unknown shell ${shell}${meant ? ` (did you mean ${meant}?)` : ''}; use one of ${NAMES.join(', ')}`,
      );
    }
    const available = Object.entries(commands);
    terminal.out(write(await Promise.all(available.map(([name, entry]) => wordsOf(name, entry)))));
    return 0;
  },
});

/** A command that reads its own arguments is run with --help, since its flags are those of another process. */
async function wordsOf(name: string, { summary, load }: CommandEntry): Promise<CommandWords> {
  if (!load) {
    // Some flags of `run` apply to both of its processes.
    const flags = new Map(flagWordsIn(await helpOf(name)).map((flag) => [flag.name, flag]));
    return { name, summary, flags: [...flags.values()], positionals: [] };
  }
  const { flags, positionals = [] } = await load();
  return { name, summary, flags: flagWords(flags), positionals };
}

async function helpOf(command: string): Promise<string> {
  const main = fileURLToPath(import.meta.url).replace(/completion[/\\]completion(\.[jt]s)$/, 'main$1');
  const child = spawn(process.execPath, [...process.execArgv, main, command, '--help'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const chunks: Buffer[] = [];
  for await (const chunk of child.stdout) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
