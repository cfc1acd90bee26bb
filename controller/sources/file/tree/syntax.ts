import type { Directive, DirectiveBlock } from '../../../../shared/config-file/directive.ts';
import type { Word } from '../../../../shared/config-file/word.ts';
import type { Token } from '../tokens/lexer.ts';

/** The top-level parts of a file: globals, snippets, imports and sites. */
export type FilePart =
  | { readonly kind: 'globals'; readonly block: DirectiveBlock }
  | ({ readonly kind: 'site' } & SiteBlock)
  | ({ readonly kind: 'snippet' } & Snippet)
  | { readonly kind: 'import'; readonly directive: Directive };

/** One or several addresses and their block. */
export type SiteBlock = {
  /** At least one; empty words where a comma has nothing next to it. */
  readonly addresses: readonly Word[];
  /** null if the line has no `{`. */
  readonly block: DirectiveBlock | null;
};

/** `(name) { … }`: the text of an import with this name. It is read again for each import, with its arguments. */
export type Snippet = {
  /** In parentheses. */
  readonly name: Word;
  /** The tokens between its braces. The last one is `end`. */
  readonly tokens: readonly Token[];
};
