import { closest } from '../../../shared/closest.ts';
import type { Place } from './word.ts';

/** One mistake, or one thing worth a second look, in a config file. */
export type Diagnostic = {
  readonly path: string;
  /** null: the file as a whole. Both count from 1, `column` in characters. */
  readonly place: { readonly line: number; readonly column: number } | null;
  /** What is wrong and what to write instead; one line. */
  readonly message: string;
};

/** Collects every problem of a file; reading goes on after each. */
export type Report = {
  error(place: Place, message: string): void;
  warn(place: Place, message: string): void;
  /** Whether there are so many errors that nobody reads further ones. */
  full(): boolean;
};

export type Collected = Report & {
  /** In the order of the file. Beyond the thousandth they are only counted. */
  errors(): Diagnostic[];
  warnings(): Diagnostic[];
};

/** More than this helps nobody: a file that is not a config file has one in every line. */
const MOST = 1_000;

/** `P:LINE:COL: message`, or `P: message` about a file as a whole. Always one line. */
export function formatDiagnostic({ path, place, message }: Diagnostic): string {
  const where = place === null ? path : `${path}:${place.line}:${place.column}`;
  return `${where}: ${message}`.replace(/[\r\n]+/g, ' ');
}

export function collectDiagnostics(): Collected {
  const errors = collect();
  const warnings = collect();
  return { error: errors.add, warn: warnings.add, full: errors.full, errors: errors.all, warnings: warnings.all };
}

function collect() {
  const kept: (Diagnostic & { place: Place })[] = [];
  let more = 0;
  const add = (at: Place, message: string) => {
    if (kept.length === MOST) more++;
    else kept.push({ path: at.path, place: { path: at.path, line: at.line, column: at.column }, message });
  };
  const all = (): Diagnostic[] => {
    kept.sort((a, b) => a.place.line - b.place.line || a.place.column - b.place.column);
    const listed: Diagnostic[] = kept.map(({ path, place: { line, column }, message }) => ({ path, place: { line, column }, message }));
    const path = listed[0]?.path ?? '';
    return more === 0 ? listed : [...listed, { path, place: null, message: `and ${more} more; the first ${MOST} are listed` }];
  };
  return { add, all, full: () => kept.length === MOST };
}

/** ` (did you mean "x"?)` for the candidate nearest to what was typed, or nothing. */
export function didYouMean(typed: string, candidates: readonly string[]): string {
  const near = typed.length > 64 ? undefined : closest(typed, candidates);
  return near === undefined ? '' : ` (did you mean "${near}"?)`;
}

const LONGEST_QUOTE = 60;

/** What someone typed, in quotes, short, and with what can't be seen spelt out. */
export function quote(text: string): string {
  const shown = [...text.slice(0, 2 * LONGEST_QUOTE)];
  const cut = shown.length > LONGEST_QUOTE || text.length > 2 * LONGEST_QUOTE;
  const visible = shown
    .slice(0, LONGEST_QUOTE)
    .join('')
    .replace(/[\p{C}\p{Z}]/gu, (char) => (char === ' ' ? ' ' : spelt(char)));
  return `"${visible}${cut ? '…' : ''}"`;
}

/** `U+00A0` for a character, as people look it up. */
export function codePointName(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}

const spelt = (char: string): string => `<${codePointName(char)}>`;
