import type { Directive, DirectiveBlock } from '../../../../shared/config-file/directive.ts';
import { quote } from '../../../../shared/config-file/quote.ts';
import type { Position } from '../../../../shared/config-file/word.ts';
import type { Tokens } from '../tokens/lexer.ts';
import type { ReadContext } from '../variables/read-context.ts';
import { advance, type Cursor, here, skipLineEnds, startOf, wordsOfLine } from './cursor.ts';

/** No valid construct is deeper than half of this. */
const DEEPEST = 8;

const NEVER_CLOSED = 'the block is never closed: add "}"';

/** Reads a text with the lines of a block, without braces around them. Errors are reported and skipped. */
export function parseLines(tokens: Tokens, context: ReadContext): Directive[] {
  const cursor = startOf(tokens, context);
  const lines: Directive[] = [];
  for (;;) {
    readDirectives(cursor, 1, lines);
    if (cursor.token.kind === 'end') return lines;
    context.report.error(here(cursor), '"}" closes nothing: delete it');
    advance(cursor);
  }
}

/** The block that follows, if there is one. */
export function blockAfter(cursor: Cursor, owner: string, depth: number): DirectiveBlock | null {
  return opens(cursor, owner) ? readBlock(cursor, depth) : null;
}

/** Whether a block follows. A brace on the next line is an error. */
export function opens(cursor: Cursor, owner: string): boolean {
  const sameLine = cursor.token.kind !== 'line-end';
  skipLineEnds(cursor);
  if (cursor.token.kind !== 'open') return false;
  if (!sameLine) cursor.context.report.error(here(cursor), `"{" belongs on the line of ${quote(owner)}`);
  return true;
}

/** The block that opens here. */
export function readBlock(cursor: Cursor, depth: number): DirectiveBlock {
  const open = here(cursor);
  advance(cursor);
  if (depth > DEEPEST) {
    cursor.context.report.error(open, 'blocks are nested too deeply');
    skipBlock(cursor, open);
    return { open, lines: [] };
  }
  const lines: Directive[] = [];
  readDirectives(cursor, depth, lines);
  endBlock(cursor, open);
  return { open, lines };
}

/** Skips the closing brace of a block, and requires a line end after it. */
export function endBlock(cursor: Cursor, open: Position): void {
  if (cursor.token.kind === 'end') return cursor.context.report.error(open, NEVER_CLOSED);
  advance(cursor);
  const { kind } = cursor.token;
  if (kind === 'word' || kind === 'open') cursor.context.report.error(here(cursor), 'a line end is missing after "}"');
}

/** Directives up to a closing brace or the end of the text. */
function readDirectives(cursor: Cursor, depth: number, lines: Directive[]): void {
  for (;;) {
    skipLineEnds(cursor);
    const { kind } = cursor.token;
    if (kind === 'end' || kind === 'close') return;
    if (kind === 'open') {
      cursor.context.report.error(here(cursor), '"{" has no directive before it');
      readBlock(cursor, depth + 1);
      continue;
    }
    const [name, ...args] = wordsOfLine(cursor);
    // A line without words is `{args[:]}` without arguments.
    const block = blockAfter(cursor, name?.text ?? '', depth + 1);
    if (name) lines.push({ name, args, block });
  }
}

/** Without recursion, so that no depth overflows the stack. */
function skipBlock(cursor: Cursor, open: Position): void {
  for (let depth = 1; depth > 0; ) {
    const { kind } = advance(cursor);
    if (kind === 'end') return cursor.context.report.error(open, NEVER_CLOSED);
    if (kind === 'open') depth++;
    if (kind === 'close') depth--;
  }
}
