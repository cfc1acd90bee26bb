import type { Place, Word } from './word.ts';

/** A file as it was written, before anything in it has a meaning. */
export type SyntaxTree = {
  readonly globals: Block | null;
  readonly sites: readonly Site[];
};

/** One or several addresses and what they share. */
export type Site = {
  /** At least one; empty words where a comma has nothing beside it. */
  readonly addresses: readonly Word[];
  /** null where the line has no `{`. */
  readonly block: Block | null;
};

export type Block = { readonly open: Place; readonly lines: readonly Directive[] };

/** `name args… [{ … }]`. */
export type Directive = { readonly name: Word; readonly args: readonly Word[]; readonly block: Block | null };
