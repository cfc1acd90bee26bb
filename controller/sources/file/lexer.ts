import { quote, type Report } from './diagnostics.ts';
import { type Environment, resolve } from './variables.ts';
import { characters, type Place, type Word } from './word.ts';

/** A word, a brace that stands alone, the end of a line (without a place), or the end of the file. */
export type Token = Word & { readonly kind: 'word' | 'open' | 'close' | 'line-end' | 'end' };

export type Lexer = { next(): Token };

/** A longer word is taken whole, wherever a brace in it stands: it is no address and no directive. Characters. */
const LONGEST_CUT = 256;

/**
 * Reads one token after the other and never fails: what is wrong is reported and skipped. Comments run from
 * a `#` at the start of a word to the end of the line; a backslash at the end of a line continues it.
 */
export function createLexer(text: string, path: string, env: Environment, report: Report): Lexer {
  // Columns are characters; only where a text has surrogate pairs do they have to be counted.
  const countsAreIndexes = !/[\ud800-\udfff]/.test(text);
  let at = 0;
  let line = 1;
  let lineStart = 0;

  // The start of the newest token, from which the columns behind it are counted.
  let knownIndex = 0;
  let knownColumn = 1;

  const columnOf = (index: number): number => {
    if (countsAreIndexes) return index - lineStart + 1;
    const fromKnown = knownIndex >= lineStart && knownIndex <= index;
    return fromKnown ? knownColumn + characters(text.slice(knownIndex, index)) : characters(text.slice(lineStart, index)) + 1;
  };
  const placeOf = (index: number): Place => ({ path, line, column: columnOf(index) });
  const token = (kind: Token['kind'], index: number, value: string, style: Word['style'] = 'bare', exact = true): Token => {
    knownColumn = columnOf(index);
    knownIndex = index;
    return { kind, text: value, style, exact, path, line, column: knownColumn };
  };
  const passLines = (from: number, to: number) => {
    const passed = text.slice(from, to);
    for (let feed = passed.indexOf('\n'); feed >= 0; feed = passed.indexOf('\n', feed + 1)) {
      line++;
      lineStart = from + feed + 1;
    }
  };

  const skipBlanks = () => {
    for (;;) {
      if (isBlank(text.charCodeAt(at))) at++;
      else if (continuationAt(text, at) > 0) {
        const from = at;
        at += continuationAt(text, at);
        passLines(from, at);
      } else break;
    }
    if (text[at] === '#') at = lineEndFrom(at);
  };

  const lineEndFrom = (index: number): number => {
    const feed = text.indexOf('\n', index);
    return feed < 0 ? text.length : feed;
  };

  // One token for all: nobody asks where a line ended.
  const lineEndToken = token('line-end', 0, '');
  const lineEnd = (): Token => {
    line++;
    lineStart = ++at;
    return lineEndToken;
  };

  const quoted = (): Token => {
    const start = at;
    const end = endOfQuoted(text, start + 1);
    const closed = text[end] === '"';
    if (!closed) report.error(placeOf(start), 'the string is not closed on its line: add ", or use backquotes for several lines');
    const inner = resolve(text.slice(start + 1, end), true, placeOf(start + 1), env, report);
    at = closed ? end + 1 : end;
    if (closed) demandBlank();
    return token('word', start, inner, 'quoted', false);
  };

  const raw = (): Token => {
    const start = at;
    const close = text.indexOf('`', start + 1);
    if (close < 0) report.error(placeOf(start), 'the string is never closed: add a backquote');
    const end = close >= 0 ? close : lineEndFrom(start);
    const result = token('word', start, text.slice(start + 1, end).replaceAll('\r\n', '\n'), 'raw', false);
    passLines(start, end);
    at = close >= 0 ? close + 1 : end;
    if (close >= 0) demandBlank();
    return result;
  };

  const demandBlank = () => {
    const next = text[at];
    if (next !== undefined && !isBlankOrLineEnd(next.charCodeAt(0))) report.error(placeOf(at), 'a space is missing after the string');
  };

  const bare = (): Token => {
    const start = at;
    let end = at;
    while (end < text.length && !isBlankOrLineEnd(text.charCodeAt(end))) end++;
    const whole = text.slice(start, end);
    const loose = whole.includes('{') || whole.includes('}') ? looseBrace(whole) : -1;
    if (whole === '{' || whole === '}') {
      at++;
      return token(whole === '{' ? 'open' : 'close', start, whole);
    }
    const isVariable = loose >= 0 && whole.startsWith('{$', loose);
    const isCut = whole.length <= LONGEST_CUT && (loose === 0 || loose === whole.length - 1);
    if (loose >= 0 && !isVariable) report.error(placeOf(start + loose), looseBraceMessage(whole, loose, isCut));
    if (loose >= 0 && !isVariable && isCut) return cutAt(start, whole, loose);
    at = end;
    const value = resolve(whole, false, placeOf(start), env, report);
    return token('word', start, value, 'bare', value === whole);
  };

  /** The common slip: `example.com{` is read as `example.com {`, and so on. */
  const cutAt = (start: number, whole: string, loose: number): Token => {
    at += Math.max(1, loose);
    if (loose > 0) return token('word', start, whole.slice(0, loose));
    return token(whole[0] === '{' ? 'open' : 'close', start, whole.slice(0, 1));
  };

  const next = (): Token => {
    skipBlanks();
    if (at >= text.length) return token('end', text.length, '');
    const char = text[at];
    if (char === '\n') return lineEnd();
    if (char === '"') return quoted();
    if (char === '`') return raw();
    return bare();
  };
  return { next };
}

function looseBraceMessage(word: string, loose: number, isCut: boolean): string {
  const brace = word.charAt(loose);
  if (isCut) return `"${brace}" stands alone: put a space or a line end before and after it`;
  return `"${brace}" has no partner in ${quote(word)}: close it, or put the word in backquotes`;
}

/** Where the first brace without a partner stands in a word, or -1: `{host}` has none, `example.com{` has. */
function looseBrace(word: string): number {
  const opened: number[] = [];
  for (let index = 0; index < word.length; index++) {
    if (word[index] === '{') opened.push(index);
    else if (word[index] === '}' && opened.pop() === undefined) return index;
  }
  return opened[0] ?? -1;
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09 || code === 0x0d;
const isBlankOrLineEnd = (code: number): boolean => isBlank(code) || code === 0x0a;

/** The length of a backslash and the line end behind it, or 0. */
function continuationAt(text: string, at: number): number {
  if (text[at] !== '\\') return 0;
  if (text[at + 1] === '\n') return 2;
  return text[at + 1] === '\r' && text[at + 2] === '\n' ? 3 : 0;
}

/** Where the closing quote stands or, where it is missing, the line end. */
function endOfQuoted(text: string, from: number): number {
  let end = from;
  while (end < text.length && text[end] !== '"' && text[end] !== '\n') end += text[end] === '\\' && text[end + 1] !== '\n' ? 2 : 1;
  return Math.min(end, text.length);
}
