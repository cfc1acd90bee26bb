import type { Flag } from '../../../shared/runtime/flags.ts';

/** A flag as needed for completion. */
export type FlagWord = {
  readonly name: string;
  readonly help: string;
  /** The placeholder of its value, `PATH` or `PORT`; null for a switch. */
  readonly placeholder: string | null;
  /** Whether the value is optional. */
  readonly optional: boolean;
};

export type CommandWords = {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly FlagWord[];
  /** The possible positional arguments. */
  readonly positionals: readonly string[];
};

/** Flags that are not available yet are not offered. */
export function flagWords(table: readonly Flag[]): FlagWord[] {
  return table
    .filter(({ unavailable }) => !unavailable)
    .map(({ name, kind, help, placeholder = 'VALUE' }) => ({
      name,
      help,
      placeholder: kind === 'switch' ? null : placeholder,
      optional: kind === 'optional',
    }));
}

/** Reads the flags from the output of `--help`: those of another process, whose flag table is not accessible here. */
export function flagWordsIn(help: string): FlagWord[] {
  return [...help.matchAll(/^ {2}--([a-z0-9-]+)(?: (\[?)([^\s\]]+)\]?)? {2,}(.*?) \((?:default |[A-Z]+_).*\)$/gm)].map(
    ([, name = '', bracket = '', placeholder, text = '']) => ({
      name,
      help: text,
      placeholder: placeholder ?? null,
      optional: bracket !== '',
    }),
  );
}

/** The values of a flag: a path, one of a few words, or any text. */
export function valuesOf(placeholder: string): { readonly kind: 'path' | 'any' } | { readonly kind: 'words'; readonly words: string[] } {
  if (placeholder.includes('|')) return { kind: 'words', words: placeholder.split('|').filter((word) => word !== word.toUpperCase()) };
  return { kind: placeholder === 'PATH' || placeholder === 'ADDRESS' ? 'path' : 'any' };
}
