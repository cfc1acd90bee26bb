import type { Position, Word } from '../../../../shared/config-file/word.ts';
import type { Token, Tokens } from '../tokens/lexer.ts';
import { argumentsFor } from '../variables/arguments.ts';
import type { ReadContext } from '../variables/read-context.ts';
import { resolveWord } from '../variables/variables.ts';

/** The next token. Comments are skipped, as they have no meaning here. */
export type Cursor = { token: Token; readonly tokens: Tokens; readonly context: ReadContext };

export function startOf(tokens: Tokens, context: ReadContext): Cursor {
  return { token: significant(tokens), tokens, context };
}

export function advance(cursor: Cursor): Token {
  const passed = cursor.token;
  cursor.token = significant(cursor.tokens);
  return passed;
}

function significant(tokens: Tokens): Token {
  let token = tokens.next();
  while (token.kind === 'comment') token = tokens.next();
  return token;
}

export function skipLineEnds(cursor: Cursor): void {
  while (cursor.token.kind === 'line-end') advance(cursor);
}

/** The position of the next token. */
export function here({ token: { path, line, column }, context: { from } }: Cursor): Position {
  return { path, line, column, from };
}

/** The words up to the next brace or line end. */
export function wordsOfLine(cursor: Cursor): Word[] {
  const words: Word[] = [];
  while (cursor.token.kind === 'word') {
    const token = advance(cursor);
    const several = argumentsFor(token, cursor.context);
    if (several) for (const word of several) words.push(word);
    else words.push(resolveWord(token, cursor.context));
  }
  return words;
}
