import { quote, unquoted } from '../../../../shared/config-file/quote.ts';
import type { Position, Word } from '../../../../shared/config-file/word.ts';
import type { Token } from '../tokens/lexer.ts';
import { type ReadContext, SPENT } from './read-context.ts';

/** What a word counts in addition to its text (characters). */
const PER_WORD = 64;

const RANGE = /^\{args\[(\d{0,4}):(\d{0,4})\]\}$/;

/** The value of `{args[N]}` or `{args.N}` inside a word; `inner` is N. Undefined, and an error, if the import passes none. */
export function argumentFor(whole: string, inner: string, place: () => Position, { args, report, budget }: ReadContext): string {
  if (args === 'unknown') return whole;
  const fail = (message: string): string => {
    report.error(place(), message);
    return '';
  };
  if (args === null) return fail(`${unquoted(whole)} has a value only in a snippet or an imported file`);
  if (inner.includes(':')) return fail(`${unquoted(whole)} is several words, so it must be a word by itself; one of them is {args[0]}`);
  if (!/^\d{1,4}$/.test(inner))
    return fail(`${quote(whole)} is not an argument: write {args[0]} for the first one, {args[:]} for all of them`);
  const value = args[Number(inner)];
  if (value !== undefined) return budget.spend(value.length) ? value : fail(SPENT);
  const passed = args.length === 0 ? 'no arguments' : args.length === 1 ? 'one argument' : `${args.length} arguments`;
  return fail(`${whole} has no value, because the import passes ${passed} (the first is {args[0]})`);
}

/** The words that replace a token that is `{args[:]}`, `{args[1:]}` or `{args[0:2]}` as a whole; undefined for any other. */
export function argumentsFor(token: Token, { args, from, report, budget }: ReadContext): Word[] | undefined {
  const range = token.style === 'bare' && token.raw.startsWith('{args[') ? RANGE.exec(token.raw) : null;
  if (range === null || args === 'unknown') return undefined;
  const { path, line, column } = token;
  if (args === null) {
    report.error({ path, line, column }, `${unquoted(token.raw)} has a value only in a snippet or an imported file`);
    return [];
  }
  const [start, end] = [Number(range[1] || 0), range[2] ? Number(range[2]) : args.length];
  const values = args.slice(start, end);
  if (!budget.spend(values.reduce((sum, value) => sum + value.length + PER_WORD, 0))) {
    report.error({ path, line, column, from }, SPENT);
    return [];
  }
  return values.map((text) => ({ text, style: 'bare', exact: false, path, line, column, from }));
}
