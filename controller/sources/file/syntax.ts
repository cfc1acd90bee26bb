import type { Place, Word } from './word.ts';

/** What stands at the top level of a file: first perhaps a block of globals, then sites. */
export type Part = { readonly kind: 'globals'; readonly block: Block } | ({ readonly kind: 'site' } & Site);

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
