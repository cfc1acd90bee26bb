import type { Condition } from '../condition.ts';
import type { Parsed } from '../values/parsed.ts';
import type { Position, Word } from './word.ts';

/** `incomplete`: lines are missing, because of an import with an error. */
export type DirectiveBlock = { readonly open: Position; readonly lines: readonly Directive[]; readonly incomplete?: boolean };

/** `name args… [{ … }]`. */
export type Directive = { readonly name: Word; readonly args: readonly Word[]; readonly block: DirectiveBlock | null };

/** What a directive needs to be read, besides its line. */
export type DirectiveContext = {
  readonly report: {
    error(place: Position, message: string): void;
    warn(place: Position, message: string): void;
  };
  /** The condition of a named matcher; undefined, and reported, if there is none with that name. */
  conditionFor(directive: string, matcher: Word): Condition | undefined;
  /** The block with its imports replaced by the lines they stand for. */
  expanded(block: DirectiveBlock): DirectiveBlock;
  /** The content of the file that a word names. The file is watched from then on. */
  textOf(word: Word): Parsed<string>;
  /** Milliseconds since 1970, to warn about what has expired. */
  readonly now: number;
  /** The word of the file that each part of a route comes from, for checks of the site as a whole. */
  readonly sourceWords: WeakMap<object, Word>;
};

/** The syntax of a directive, which is checked before `read` is called, and its meaning. */
export type Grammar<Draft, Context = DirectiveContext> = {
  readonly name: string;
  /** Its names in other proxies. */
  readonly otherNames?: readonly string[];
  /** For errors and for the reference. */
  readonly form: string;
  /** Minimum and maximum number of arguments. */
  readonly args: readonly [least: number, most: number];
  /** `instead`: a block replaces the arguments. */
  readonly block: 'none' | 'optional' | 'required' | 'instead';
  /** What other proxies allow in its block, and what to write here instead. */
  readonly foreign?: ReadonlyMap<string, string>;
  /** Whether it may appear several times in one block; `conditionally`: with a matcher. */
  readonly repeats: boolean | 'conditionally';
  /** Where a named matcher may be: before the arguments, which are then passed without it, or instead of a path pattern. */
  readonly matcher?: 'before' | 'instead';
  /** Whether the directive makes its site or block respond to requests. */
  readonly answers?: true;
  /** `condition`: that of the matcher before the arguments; null without one. */
  read(directive: Directive, draft: Draft, context: Context, condition: Condition | null): void;
};

/** The first occurrence of a directive among those seen. */
export const firstOf = (seen: readonly Word[], name: string): Word | undefined => seen.find((word) => word.text === name);
