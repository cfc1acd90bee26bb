import { quote } from '../../../../shared/config-file/quote.ts';
import { characters, type Position, type Word } from '../../../../shared/config-file/word.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';
import { looseBrace } from './loose-brace.ts';
import { otherQuote } from './other-quotes.ts';

/** A word, a separate brace, a comment, the end of a line (without a position), or the end of the file. */
export type Token = Position & {
  readonly kind: 'word' | 'open' | 'close' | 'comment' | 'line-end' | 'end';
  /** As in the file; for a string the text between its quotation marks. */
  readonly raw: string;
  readonly style: Word['style'];
  /** Whether a backslash at the end of the previous line makes it part of that line. */
  readonly continues: boolean;
};

/** Returns one token after the other, and `end` forever after the last. */
export type Tokens = { next(): Token };

/** The progress in a text. */
type Scan = {
  readonly text: string;
  readonly path: string;
  readonly report: DiagnosticReport;
  /** Columns are characters, which have to be counted only if a text has surrogate pairs. */
  readonly countsAreIndexes: boolean;
  at: number;
  line: number;
  lineStart: number;
  /** The start of the latest token, from which later columns are counted. */
  knownIndex: number;
  knownColumn: number;
  continues: boolean;
  /** Whether a text between `<<EOF` and `EOF` is looked for: no longer after one without an end, since that takes a search of the file. */
  heredocs: boolean;
};

/**
 * Reads one token after the other and never fails: errors are reported and skipped. A comment extends from a `#` at the start of a word
 * to the end of the line; a backslash at the end of a line continues it.
 */
export function createLexer(text: string, path: string, report: DiagnosticReport): Tokens {
  const countsAreIndexes = !/[\ud800-\udfff]/.test(text);
  const start = { at: 0, line: 1, lineStart: 0, knownIndex: 0, knownColumn: 1, continues: false, heredocs: true };
  const scan: Scan = { text, path, report, countsAreIndexes, ...start };
  return { next: () => next(scan) };
}

/** Tokens read earlier. The last one is `end`. */
export function replay(tokens: readonly Token[]): Tokens {
  let at = 0;
  return { next: () => tokens[Math.min(at++, tokens.length - 1)] ?? LINE_END };
}

function next(scan: Scan): Token {
  skipBlanks(scan);
  const { text, at } = scan;
  if (at >= text.length) return token(scan, 'end', text.length, '');
  switch (text[at]) {
    case '\n':
      return lineEnd(scan);
    case '#':
      return comment(scan);
    case '"':
      return quoted(scan);
    case '`':
      return raw(scan);
    default:
      return bare(scan);
  }
}

function skipBlanks(scan: Scan): void {
  const { text } = scan;
  scan.continues = false;
  for (;;) {
    if (isBlank(text.charCodeAt(scan.at))) scan.at++;
    else {
      const continuation = continuationAt(text, scan.at);
      if (continuation === 0) return;
      passLines(scan, scan.at, scan.at + continuation);
      scan.at += continuation;
      scan.continues = true;
    }
  }
}

/** One token for all line ends, since their positions are not needed. */
const LINE_END: Token = { kind: 'line-end', raw: '', style: 'bare', continues: false, path: '', line: 1, column: 1 };

function lineEnd(scan: Scan): Token {
  scan.line++;
  scan.lineStart = ++scan.at;
  return LINE_END;
}

function comment(scan: Scan): Token {
  const start = scan.at;
  scan.at = lineEndFrom(scan.text, start);
  return token(scan, 'comment', start, scan.text.slice(start, scan.at).trimEnd());
}

function quoted(scan: Scan): Token {
  const { text, at: start } = scan;
  const end = endOfQuoted(text, start + 1);
  const closed = text[end] === '"';
  if (!closed) scan.report.error(placeOf(scan, start), 'the string is not closed on its line: add ", or use backquotes for several lines');
  const result = token(scan, 'word', start, text.slice(start + 1, end), 'quoted');
  scan.at = closed ? end + 1 : end;
  if (closed) demandBlank(scan);
  return result;
}

function raw(scan: Scan): Token {
  const { text, at: start } = scan;
  const close = text.indexOf('`', start + 1);
  if (close < 0) scan.report.error(placeOf(scan, start), 'the string is never closed: add a backquote');
  const end = close >= 0 ? close : lineEndFrom(text, start);
  const result = token(scan, 'word', start, text.slice(start + 1, end).replaceAll('\r\n', '\n'), 'raw');
  passLines(scan, start, end);
  scan.at = close >= 0 ? close + 1 : end;
  if (close >= 0) demandBlank(scan);
  return result;
}

function bare(scan: Scan): Token {
  const { text, at: start } = scan;
  let end = start;
  while (end < text.length && !isBlankOrLineEnd(text.charCodeAt(end))) end++;
  const whole = text.slice(start, end);
  if (scan.heredocs && HEREDOC.test(whole)) return heredoc(scan, whole.slice(2), end);
  reportOtherQuote(scan, whole);
  const brace = looseBrace(whole);
  scan.at = end;
  if (whole === '{' || whole === '}') return token(scan, whole === '{' ? 'open' : 'close', start, whole);
  if (brace !== null) scan.report.error(placeOf(scan, start + brace.index), brace.message);
  if (!brace?.isCut) return token(scan, 'word', start, whole);
  scan.at = start + Math.max(1, brace.index);
  if (brace.index > 0) return token(scan, 'word', start, whole.slice(0, brace.index));
  return token(scan, whole[0] === '{' ? 'open' : 'close', start, whole.slice(0, 1));
}

/** An error if the quoted text would go on in the next word of the line. */
function reportOtherQuote(scan: Scan, word: string): void {
  const quote = otherQuote(word);
  if (quote === undefined) return;
  const { report, text, at } = scan;
  const message = `${quote.mark} is not a quotation mark here: write "…"`;
  let next = at + word.length;
  while (isBlank(text.charCodeAt(next))) next++;
  const isLast = next >= text.length || '\r\n#'.includes(text.charAt(next));
  if (quote.isClosed || isLast) report.warn(placeOf(scan, at), message);
  else report.error(placeOf(scan, at), message);
}

/** Of other proxies: `<<EOF` begins a text that ends at a line with `EOF`. */
const HEREDOC = /^<<[A-Za-z0-9_-]+$/;

/** Reports it, and reads its text as one word, so that no line of it is taken for a directive. Without an end it is a word like others. */
function heredoc(scan: Scan, marker: string, end: number): Token {
  const { text, at: start } = scan;
  const begins = text[end] === '\r' ? end + 1 : end;
  const isLast = text[begins] === '\n';
  const close = isLast ? new RegExp(`^[ \\t]*${marker}(?=\\s|$)`, 'm').exec(text.slice(begins)) : null;
  if (close === null) {
    scan.heredocs = !isLast;
    scan.at = end;
    return token(scan, 'word', start, text.slice(start, end));
  }
  scan.report.error(placeOf(scan, start), `${quote(`<<${marker}`)}: put a text of several lines in backquotes instead`);
  const result = token(scan, 'word', start, text.slice(begins + 1, begins + close.index), 'raw');
  const last = begins + close.index + close[0].length;
  passLines(scan, start, last);
  scan.at = last;
  return result;
}

function demandBlank(scan: Scan): void {
  const { text, at } = scan;
  if (at < text.length && !isBlankOrLineEnd(text.charCodeAt(at)))
    scan.report.error(placeOf(scan, at), 'a space is missing after the string');
}

function token(scan: Scan, kind: Token['kind'], index: number, text: string, style: Token['style'] = 'bare'): Token {
  scan.knownColumn = columnOf(scan, index);
  scan.knownIndex = index;
  return { kind, raw: text, style, continues: scan.continues, path: scan.path, line: scan.line, column: scan.knownColumn };
}

const placeOf = (scan: Scan, index: number): Position => ({ path: scan.path, line: scan.line, column: columnOf(scan, index) });

function columnOf({ text, countsAreIndexes, lineStart, knownIndex, knownColumn }: Scan, index: number): number {
  if (countsAreIndexes) return index - lineStart + 1;
  const fromKnown = knownIndex >= lineStart && knownIndex <= index;
  return fromKnown ? knownColumn + characters(text.slice(knownIndex, index)) : characters(text.slice(lineStart, index)) + 1;
}

function passLines(scan: Scan, from: number, to: number): void {
  const passed = scan.text.slice(from, to);
  for (let feed = passed.indexOf('\n'); feed >= 0; feed = passed.indexOf('\n', feed + 1)) {
    scan.line++;
    scan.lineStart = from + feed + 1;
  }
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09 || code === 0x0d;
const isBlankOrLineEnd = (code: number): boolean => isBlank(code) || code === 0x0a;

function lineEndFrom(text: string, index: number): number {
  const feed = text.indexOf('\n', index);
  return feed < 0 ? text.length : feed;
}

/** The length of a backslash and the line end after it, or 0. */
function continuationAt(text: string, at: number): number {
  if (text[at] !== '\\') return 0;
  if (text[at + 1] === '\n') return 2;
  return text[at + 1] === '\r' && text[at + 2] === '\n' ? 3 : 0;
}

/** The position of the closing quotation mark or, if it is missing, of the line end. */
function endOfQuoted(text: string, from: number): number {
  let end = from;
  while (end < text.length && text[end] !== '"' && text[end] !== '\n') end += text[end] === '\\' && text[end + 1] !== '\n' ? 2 : 1;
  return Math.min(end, text.length);
}
