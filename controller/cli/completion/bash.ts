import { NAME } from '../../../shared/name.ts';
import { type CommandWords, type FlagWord, valuesOf } from './words.ts';

/** A completion script for bash 3.2 and newer. */
export function bashCompletion(commands: readonly CommandWords[]): string {
  return `# bash completion for ${NAME}: source <(${NAME} completion bash)
_${NAME}() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} words=
  compopt +o default 2>/dev/null
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(' ')}" -- "$word"))
    return
  fi
  case "\${COMP_WORDS[1]} $before" in
${commands.flatMap(valueCases).join('')}  esac
  case "\${COMP_WORDS[1]}" in
${commands.map(({ name, flags, positionals }) => `    ${name}) words="${[...flagsAsWritten(flags), ...positionals].join(' ')}" ;;\n`).join('')}  esac
  COMPREPLY=($(compgen -W "$words --help" -- "$word"))
}
complete -o default -F _${NAME} ${NAME}
`;
}

const flagsAsWritten = (flags: readonly FlagWord[]): string[] => flags.map(({ name }) => `--${name}`);

/** Completes the value after a flag; paths are left to the shell. */
function valueCases({ name, flags }: CommandWords): string[] {
  return flags.flatMap(({ name: flag, placeholder, optional }) => {
    if (placeholder === null) return [];
    const values = valuesOf(placeholder);
    const offer =
      values.kind === 'path'
        ? 'compopt -o default 2>/dev/null; COMPREPLY=()'
        : `COMPREPLY=($(compgen -W "${values.kind === 'words' ? values.words.join(' ') : ''}" -- "$word"))`;
    // After an optional value another flag may follow.
    const guard = optional ? `[ "\${word#-}" = "$word" ] && { ` : '';
    return [`    "${name} --${flag}") ${guard}${offer}; return${optional ? '; }' : ''} ;;\n`];
  });
}
