import { quote, unquoted } from '../../../../shared/config-file/quote.ts';
import { characters, type Import, type Position, type Word } from '../../../../shared/config-file/word.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';
import type { Token } from '../tokens/lexer.ts';
import { argumentFor } from './arguments.ts';
import { type ReadContext, SPENT } from './read-context.ts';

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['{', '{'],
  ['n', '\n'],
  ['t', '\t'],
]);
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const VARIABLE = /\{\$(?:([^{}]*)\})?|\{args(?:\[([^[\]{}]*)\]|\.(\d+))\}/g;
/** `\{` is an escape before a variable; before a placeholder it stays, so that the text is literal where placeholders are resolved. */
const VARIABLE_OR_ESCAPE = /\{\$(?:([^{}]*)\})?|\{args(?:\[([^[\]{}]*)\]|\.(\d+))\}|\\(?!\{(?!args[.[])\??[A-Za-z][\w.?~-]*\})./gsu;

/**
 * Resolves the word of a token: `{$NAME}`, `{$NAME:default}`, `{args[0]}` and, in a quoted string, the escapes. Values are never split
 * into words and never resolved again.
 */
export function resolveWord(token: Token, context: ReadContext): Word {
  const { raw, style, path, line, column } = token;
  const text = style === 'raw' || !mayHold(raw, style) ? raw : resolve(token, context);
  return { text, style, exact: style === 'bare' && text === raw, path, line, column, from: context.from };
}

const mayHold = (raw: string, style: Word['style']): boolean => raw.includes('{') || (style === 'quoted' && raw.includes('\\'));

function resolve(token: Token, context: ReadContext): string {
  const { raw, style } = token;
  const place = placesIn(token, context.from);
  return raw.replace(
    style === 'quoted' ? VARIABLE_OR_ESCAPE : VARIABLE,
    (whole: string, variable: string | undefined, index: string | undefined, number: string | undefined, at: number) => {
      if (whole.startsWith('\\')) return escaped(whole, () => place(at), context.report);
      if (variable !== undefined) return lookUp(whole, variable, () => place(at), context);
      const argument = index ?? number;
      if (argument !== undefined) return argumentFor(whole, argument, () => place(at), context);
      context.report.error(
        place(at),
        'the variable is not closed: write {$NAME} or {$NAME:default}, in quotes where the default has spaces',
      );
      return whole;
    },
  );
}

/** The position of each character of a token. Positions are requested from left to right, so each is counted from the previous one. */
function placesIn({ raw, style, path, line, column: start }: Token, from: Import | undefined): (index: number) => Position {
  let column = style === 'quoted' ? start + 1 : start;
  let counted = 0;
  return (index) => {
    column += characters(raw.slice(counted, index));
    counted = index;
    return { path, line, column, from };
  };
}

function escaped(whole: string, place: () => Position, report: DiagnosticReport): string {
  const meant = ESCAPES.get(whole.slice(1));
  if (meant === undefined)
    report.error(place(), `unknown escape ${quote(whole)}: write \\\\ for a backslash (the escapes are \\" \\\\ \\{ \\n \\t)`);
  return meant ?? whole;
}

function lookUp(whole: string, inner: string, place: () => Position, { env, report, budget }: ReadContext): string {
  const colon = inner.indexOf(':');
  const name = colon < 0 ? inner : inner.slice(0, colon);
  if (!NAME.test(name)) {
    report.error(place(), `${quote(name)} is not a valid name of an environment variable: write {$NAME} or {$NAME:default}`);
    return '';
  }
  if (env === 'unknown') return whole;
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (value !== undefined) {
    if (!budget.spend(value.length)) {
      report.error(place(), SPENT);
      return '';
    }
    report.substituted(place(), `{$${name}}`, value);
    return value;
  }
  if (colon >= 0) return inner.slice(colon + 1);
  report.error(place(), `the environment variable ${unquoted(name)} is not set: set it, or write {$${unquoted(name)}:default}`);
  return '';
}
