import { collectDiagnostics, type Diagnostic } from './diagnostics/diagnostics.ts';
import { readText } from './text/text.ts';
import { createLexer, type Token } from './tokens/lexer.ts';
import { checkStructure } from './tree/structure.ts';

export type Layout = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

/**
 * The canonical layout of a config file, or of a part of one that others import: two spaces a level, one between
 * words, a block on one line where it was written so, at most one blank line together, one behind each block of the
 * top level, LF. Words, comments and the order of all stay as they are. Refused are only mistakes of the structure,
 * for then nobody knows what is meant.
 */
export function layOut(bytes: Buffer, path: string): Layout {
  const report = collectDiagnostics(path);
  const text = readText(bytes, path, report) ?? '';
  report.read(path, text);
  const tokens = tokensOf(text, path, report);
  checkStructure(tokens, report);
  const diagnostics = report.errors();
  return diagnostics.length > 0 ? { ok: false, diagnostics } : { ok: true, text: write(tokens) };
}

function tokensOf(text: string, path: string, report: ReturnType<typeof collectDiagnostics>): Token[] {
  const lexer = createLexer(text, path, report);
  const tokens = [lexer.next()];
  while (tokens.at(-1)?.kind !== 'end') tokens.push(lexer.next());
  return tokens;
}

/** A text while it is written. */
type Page = {
  readonly lines: string[];
  /** The line that is being written, without its indentation. Empty: none is. */
  line: string;
  /** How many blocks are open that stand over several lines. */
  depth: number;
  /** Nothing but a comment may follow on this line. */
  full: boolean;
  /** Line ends since something was written. */
  lineEnds: number;
  /** What the line before ended with, comments apart. */
  behind: 'words' | 'open' | 'close';
};

function write(tokens: readonly Token[]): string {
  const page: Page = { lines: [], line: '', depth: 0, full: false, lineEnds: 0, behind: 'open' };
  const onOneLine = bracesOnOneLine(tokens);
  for (const token of tokens) {
    if (page.full && token.kind !== 'comment') endLine(page);
    if (token.kind === 'line-end' || token.kind === 'end') {
      endLine(page);
      page.lineEnds++;
    } else if (token.kind === 'comment') {
      put(page, token.raw, false);
      page.full = true;
    } else if (token.kind !== 'word' && !onOneLine.has(token)) brace(page, token.kind);
    else {
      put(page, written(token), token.kind === 'word' && token.continues);
      page.behind = 'words';
    }
  }
  return page.lines.length === 0 ? '' : `${page.lines.join('\n')}\n`;
}

/** The braces of the blocks that open and close on one line. */
function bracesOnOneLine(tokens: readonly Token[]): Set<Token> {
  const braces = new Set<Token>();
  let opened: Token[] = [];
  for (const token of tokens) {
    if (token.kind === 'line-end' || token.kind === 'comment') opened = [];
    else if (token.kind === 'open') opened.push(token);
    else if (token.kind === 'close') {
      const open = opened.pop();
      if (open) braces.add(open).add(token);
    }
  }
  return braces;
}

/** A brace of a block over several lines: what it holds begins on a line of its own, and so does what closes it. */
function brace(page: Page, kind: 'open' | 'close'): void {
  if (kind === 'close') {
    endLine(page);
    page.depth--;
    // No blank line before it.
    page.lineEnds = 0;
  }
  put(page, kind === 'open' ? '{' : '}', false);
  if (kind === 'open') page.depth++;
  page.behind = kind;
  page.full = true;
}

/** Adds to the line, or begins one. `continued`: behind a backslash and a line end. */
function put(page: Page, text: string, continued: boolean): void {
  if (page.line === '') {
    if (wantsBlankLine(page)) page.lines.push('');
    page.line = `${'  '.repeat(page.depth)}${text}`;
    page.behind = 'words';
  } else page.line += continued ? ` \\\n${'  '.repeat(page.depth + 1)}${text}` : ` ${text}`;
  page.lineEnds = 0;
}

function endLine(page: Page): void {
  if (page.line !== '') page.lines.push(page.line);
  page.line = '';
  page.full = false;
}

/** Where one stood, but not at the edge of a block; and behind each block of the top level. */
function wantsBlankLine({ depth, lineEnds, behind }: Page): boolean {
  if (behind === 'open') return false;
  return lineEnds > 1 || (behind === 'close' && depth === 0 && lineEnds > 0);
}

/** As it stands in the file. A backslash on its own would join the lines if nothing followed it. */
function written({ raw, style }: Token): string {
  if (style === 'quoted') return `"${raw}"`;
  return style === 'raw' || raw === '\\' ? `\`${raw}\`` : raw;
}
