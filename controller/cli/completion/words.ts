import type { Flag } from '../../../shared/runtime/flags.ts';

/** A flag as a shell has to know it. */
export type FlagWord = {
  readonly name: string;
  readonly help: string;
  /** What its value is called, `PATH` or `PORT`; null for a switch. */
  readonly placeholder: string | null;
  /** The value may be left out. */
  readonly optional: boolean;
};

export type CommandWords = {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly FlagWord[];
  /** Words that may stand beside its flags. */
  readonly positionals: readonly string[];
};

/** Flags that are refused because they are not available yet are offered to nobody. */
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

/** The flags in what `--help` printed: those of another process, which shares no table with this one. */
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

/** What a value can be: a path, one of a few words, or anything. */
export function valuesOf(placeholder: string): { readonly kind: 'path' | 'any' } | { readonly kind: 'words'; readonly words: string[] } {
  if (placeholder.includes('|')) return { kind: 'words', words: placeholder.split('|').filter((word) => word !== word.toUpperCase()) };
  return { kind: placeholder === 'PATH' || placeholder === 'ADDRESS' ? 'path' : 'any' };
}
