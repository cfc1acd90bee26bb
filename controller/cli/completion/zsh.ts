import { NAME } from '../../../shared/name.ts';
import { type CommandWords, type FlagWord, valuesOf } from './words.ts';

/** A completion script for zsh: sourced, or as a file `_NAME` in a directory of `fpath`. */
export function zshCompletion(commands: readonly CommandWords[]): string {
  return `#compdef ${NAME}
# zsh completion for ${NAME}: source <(${NAME} completion zsh)
_${NAME}() {
  local -a commands=(
${commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}\n`).join('')}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=\${words[2]}
  shift words
  (( CURRENT-- ))
  case $command in
${commands.map(commandCase).join('')}  esac
}
if [[ \${funcstack[1]} == _${NAME} ]]; then
  _${NAME} "$@"
else
  compdef _${NAME} ${NAME}
fi
`;
}

function commandCase({ name, flags, positionals }: CommandWords): string {
  const specs = [...flags.map(flagSpec), quoted('--help[print help]')];
  if (positionals.length > 0) specs.push(quoted(`1:argument:(${positionals.join(' ')})`));
  return `    ${name}) _arguments ${specs.join(' ')} ;;\n`;
}

function flagSpec({ name, help, placeholder, optional }: FlagWord): string {
  if (placeholder === null) return quoted(`--${name}[${escaped(help)}]`);
  const values = valuesOf(placeholder);
  const offer = values.kind === 'path' ? '_files' : values.kind === 'words' ? `(${values.words.join(' ')})` : ' ';
  return quoted(`--${name}=[${escaped(help)}]${optional ? '::' : ':'}${escaped(placeholder)}:${offer}`);
}

/** Characters with a special meaning in a spec of _arguments. */
const escaped = (text: string): string => text.replace(/[\\[\]:]/g, '\\$&');

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
