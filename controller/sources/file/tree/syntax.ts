import type { Block, Directive } from '../../../../shared/config-file/directive.ts';
import type { Word } from '../../../../shared/config-file/word.ts';
import type { Token } from '../tokens/lexer.ts';

/** What stands at the top level of a file: globals, snippets, imports and sites. */
export type Part =
  | { readonly kind: 'globals'; readonly block: Block }
  | ({ readonly kind: 'site' } & Site)
  | ({ readonly kind: 'snippet' } & Snippet)
  | { readonly kind: 'import'; readonly directive: Directive };

/** One or several addresses and what they share. */
export type Site = {
  /** At least one; empty words where a comma has nothing beside it. */
  readonly addresses: readonly Word[];
  /** null where the line has no `{`. */
  readonly block: Block | null;
};

/** `(name) { … }`: what an import of this name stands for. It is read anew for each, with its arguments. */
export type Snippet = {
  /** In parentheses. */
  readonly name: Word;
  /** What stands between its braces. The last one is `end`. */
  readonly tokens: readonly Token[];
};
