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

/** Collects every problem of a file, one a place; reading goes on after each. */
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

type PlacedDiagnostic = Diagnostic & { readonly place: NonNullable<Diagnostic['place']> };

function collect() {
  const kept: PlacedDiagnostic[] = [];
  const places = new Set<string>();
  let more = 0;
  const add = (at: Place, message: string) => {
    // What else is wrong with the same word follows from the first mistake.
    const key = `${at.path}:${at.line}:${at.column}`;
    if (places.has(key)) return;
    if (kept.length === MOST) more++;
    else {
      places.add(key);
      kept.push({ path: at.path, place: { line: at.line, column: at.column }, message });
    }
  };
  const all = (): Diagnostic[] => {
    kept.sort((a, b) => a.place.line - b.place.line || a.place.column - b.place.column);
    const [first] = kept;
    if (more === 0 || !first) return kept;
    return [...kept, { path: first.path, place: null, message: `and ${more} more; the first ${MOST} are listed` }];
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
  let shown = '';
  for (const char of text) {
    if (shown.length >= LONGEST_QUOTE) return `"${shown}…"`;
    shown += /[\p{C}\p{Z}]/u.test(char) && char !== ' ' ? `<${codePointName(char)}>` : char;
  }
  return `"${shown}"`;
}

/** `U+00A0` for a character, as people look it up. */
export function codePointName(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
