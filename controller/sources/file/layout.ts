import { collectDiagnostics, type Diagnostic } from './diagnostics/diagnostics.ts';
import { readText } from './text/text.ts';
import { createLexer, type Token } from './tokens/lexer.ts';
import { checkStructure } from './tree/structure.ts';

export type Layout = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly diagnostics: readonly Diagnostic[] };

/**
 * The canonical format of a config file, or of an imported part: two spaces per level, one between words, a block on one line if it was
 * written so, at most one blank line in a row and one after each top-level block, LF. Words, comments and their order do not change. Only
 * structural errors are rejected, because they make the meaning unclear.
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

/** The text being written. */
type Page = {
  readonly lines: string[];
  /** The current line without its indentation; empty if none was started. */
  line: string;
  /** The number of open blocks that span several lines. */
  depth: number;
  /** Only a comment may follow on this line. */
  full: boolean;
  /** Line ends since the last output. */
  lineEnds: number;
  /** What the previous line ended with, apart from comments. */
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

/** The braces of blocks that open and close on one line. */
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

/** A brace of a multi-line block: its content and its closing brace each start on a new line. */
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

/** Adds to the line, or starts one. `continued`: after a backslash and a line end. */
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

/** Where the text had one, but not at the edge of a block; and after each top-level block. */
function wantsBlankLine({ depth, lineEnds, behind }: Page): boolean {
  if (behind === 'open') return false;
  return lineEnds > 1 || (behind === 'close' && depth === 0 && lineEnds > 0);
}

/** As in the file. A lone backslash would join the lines if nothing followed it. */
function written({ raw, style }: Token): string {
  if (style === 'quoted') return `"${raw}"`;
  return style === 'raw' || raw === '\\' ? `\`${raw}\`` : raw;
}
