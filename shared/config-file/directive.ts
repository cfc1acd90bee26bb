import type { Condition } from '../condition.ts';
import type { Parsed } from '../values/parsed.ts';
import type { Place, Word } from './word.ts';

export type Block = { readonly open: Place; readonly lines: readonly Directive[] };

/** `name args… [{ … }]`. */
export type Directive = { readonly name: Word; readonly args: readonly Word[]; readonly block: Block | null };

/** What reading a directive takes, beside its line. */
export type Reading = {
  readonly report: {
    error(place: Place, message: string): void;
    warn(place: Place, message: string): void;
  };
  /** The condition that a matcher's name stands for; undefined, and reported, where there is none of that name. */
  conditionFor(directive: string, matcher: Word): Condition | undefined;
  /** The block with the lines that its imports stand for in their places. */
  expanded(block: Block): Block;
  /** What a file holds that a word names. It is looked at again whenever that changes. */
  textOf(word: Word): Parsed<string>;
  /** Milliseconds since 1970: what has ended by then is worth a warning. */
  readonly now: number;
  /** Which word of the file a part of a route comes from, for checks of the site as a whole. */
  readonly wordOf: WeakMap<object, Word>;
};

/** How a directive is written, which is checked before `read` is called, and what it means. */
export type Grammar<Draft, Context = Reading> = {
  readonly name: string;
  /** What people who come from elsewhere call it. */
  readonly otherNames?: readonly string[];
  /** For errors and for the reference. */
  readonly form: string;
  /** Fewest and most arguments. */
  readonly args: readonly [least: number, most: number];
  /** `instead`: where a block stands there are no arguments. */
  readonly block: 'none' | 'optional' | 'required' | 'instead';
  /** What other proxies allow in its block, and what to do instead here. */
  readonly foreign?: ReadonlyMap<string, string>;
  /** May stand several times in one block; `conditionally`: with a matcher. */
  readonly repeats: boolean | 'conditionally';
  /** Where a named matcher may stand: before the arguments, which are then given without it, or instead of a path pattern. */
  readonly matcher?: 'before' | 'instead';
  /** Whether a site or block that says it has something to answer with. */
  readonly answers?: true;
  /** `condition`: what the matcher before the arguments says; null without one. */
  read(directive: Directive, draft: Draft, context: Context, condition: Condition | null): void;
};

/** Where a directive stands first among those that were seen. */
export const firstOf = (seen: readonly Word[], name: string): Word | undefined => seen.find((word) => word.text === name);
