import { NAME } from '../../../shared/name.ts';
import { type CommandWords, type FlagWord, valuesOf } from './words.ts';

/** A completion script for fish 3 and newer. */
export function fishCompletion(commands: readonly CommandWords[]): string {
  const lines = commands.flatMap(({ name, summary, flags, positionals }) => [
    `complete -c ${NAME} -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
    ...flags.map((flag) => `complete -c ${NAME} -n ${within(name)} ${flagOptions(flag)}`),
    ...(positionals.length > 0 ? [`complete -c ${NAME} -n ${within(name)} -a ${quoted(positionals.join(' '))}`] : []),
  ]);
  const head = `# fish completion for ${NAME}: ${NAME} completion fish | source\ncomplete -c ${NAME} -f\n`;
  return `${head}${lines.join('\n')}\ncomplete -c ${NAME} -l help -d ${quoted('print help')}\n`;
}

const within = (command: string): string => quoted(`__fish_seen_subcommand_from ${command}`);

function flagOptions({ name, help, placeholder, optional }: FlagWord): string {
  const about = `-l ${name} -d ${quoted(help)}`;
  if (placeholder === null || optional) return about;
  const values = valuesOf(placeholder);
  if (values.kind === 'path') return `${about} -r -F`;
  return values.kind === 'words' ? `${about} -x -a ${quoted(values.words.join(' '))}` : `${about} -x`;
}

const quoted = (text: string): string => `'${text.replace(/[\\']/g, '\\$&')}'`;
