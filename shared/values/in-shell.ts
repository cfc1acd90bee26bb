/**
 * A word as it is written in a shell, for commands that a message names: what a shell acts upon, such as `*`, `;` and `$(…)`, is quoted.
 * Names and paths in messages may be those of others, as in Ingresses and labels.
 */
export const inShell = (word: string): string => (/^[\w./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
