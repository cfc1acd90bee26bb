import type { Position } from '../../../../shared/config-file/word.ts';
import { type Concealment, createConcealment } from './concealed.ts';

/** One error or warning in a config file. */
export type Diagnostic = {
  readonly path: string;
  /** null: the file as a whole. Both count from 1, `column` in characters. */
  readonly place: { readonly line: number; readonly column: number } | null;
  /** What is wrong and what to write instead, in one line. */
  readonly message: string;
  /** Where the text was imported, innermost first; absent if it was not. */
  readonly imports?: readonly Position[];
  /** The line at the position, if known. */
  readonly text?: string;
};

/** Collects all problems of a file, one per position; reading continues after each. */
export type DiagnosticReport = {
  error(place: Position, message: string): void;
  warn(place: Position, message: string): void;
  /** The environment variable used at a position: no message repeats its value. */
  substituted(place: Position, shown: string, value: string): void;
  /** Whether there are so many errors that further ones are not useful. */
  full(): boolean;
  /** Registers the content of a path. Problems are listed in the order in which texts were read. */
  read(path: string, text: string): void;
};

export type Collected = DiagnosticReport & {
  /** In the order of the file. After the thousandth they are only counted. */
  errors(): Diagnostic[];
  warnings(): Diagnostic[];
  /** The number of errors so far. */
  count(): number;
};

/** More are not helpful: a file that is not a config file has one in every line. */
const MAX = 1_000;

/** `P:LINE:COL: message`, or `P: message` about a file as a whole. Always one line. */
export function formatDiagnostic({ path, place, message, imports }: Diagnostic): string {
  const where = place === null ? path : positionOf({ path, ...place });
  const chain = imports ? ` (imported by ${imports.map(positionOf).join(', by ')})` : '';
  return `${where}: ${message}${chain}`.replace(/[\r\n]+/g, ' ');
}

/** `path:line:column`. */
export const positionOf = ({ path, line, column }: Position): string => `${path}:${line}:${column}`;

/** `main`: the path of the main file, whose text messages may repeat. */
export function collectDiagnostics(main: string): Collected {
  const texts = new Map<string, string>();
  const read = (path: string, text: string) => void (texts.has(path) || texts.set(path, text));
  const lineAt = createLines(texts);
  const concealment = createConcealment(main, lineAt);
  const errors = collect(texts, lineAt, concealment);
  const warnings = collect(texts, lineAt, concealment);
  const { add: error, full, count } = errors;
  return { error, warn: warnings.add, substituted: concealment.substituted, full, count, read, errors: errors.all, warnings: warnings.all };
}

type PlacedDiagnostic = Diagnostic & { readonly place: NonNullable<Diagnostic['place']> };

function collect(texts: ReadonlyMap<string, string>, lineAt: (place: Position) => string | undefined, { shownAt }: Concealment) {
  const kept: PlacedDiagnostic[] = [];
  const known = new Set<string>();
  let more = 0;
  const add = (at: Position, message: string) => {
    const imports = chainOf(at);
    // Further errors in the same word follow from the first, and are the same for each import of it.
    const keys = [`${positionOf(at)}\n${message}`, `${positionOf(at)} ${imports?.map(positionOf).join(' ') ?? ''}`];
    if (keys.some((key) => known.has(key))) return;
    for (const key of keys) known.add(key);
    if (kept.length === MAX) more++;
    else
      kept.push({ path: at.path, place: { line: at.line, column: at.column }, message: shownAt(at, message), ...(imports && { imports }) });
  };
  const all = (): Diagnostic[] => {
    const files = [...texts.keys()];
    const order = new Map(files.map((path, index) => [path, index]));
    const fileOf = (diagnostic: Diagnostic): number => order.get(diagnostic.path) ?? files.length;
    kept.sort((a, b) => fileOf(a) - fileOf(b) || a.place.line - b.place.line || a.place.column - b.place.column);
    const [first] = kept;
    if (more === 0 || !first) return withLines(kept, lineAt);
    return [...withLines(kept, lineAt), { path: first.path, place: null, message: `and ${more} more; the first ${MAX} are listed` }];
  };
  return { add, all, full: () => kept.length === MAX, count: () => kept.length + more };
}

/** The positions at which a text was imported, innermost first. */
function chainOf({ from }: Position): Position[] | undefined {
  if (!from) return undefined;
  const chain: Position[] = [];
  for (let link: typeof from | undefined = from; link; link = link.at.from) chain.push(link.at);
  return chain.map(({ path, line, column }) => ({ path, line, column }));
}

function withLines(diagnostics: readonly PlacedDiagnostic[], lineAt: (place: Position) => string | undefined): Diagnostic[] {
  return diagnostics.map((diagnostic) => {
    const { path, place } = diagnostic;
    const text = lineAt({ path, ...place });
    return text === undefined ? diagnostic : { ...diagnostic, text };
  });
}

/** Finds the line at a position; each file is split only once. */
function createLines(texts: ReadonlyMap<string, string>): (place: Position) => string | undefined {
  const lines = new Map<string, readonly string[]>();
  return ({ path, line }) => {
    const ofFile = lines.get(path) ?? texts.get(path)?.split(/\r?\n/) ?? [];
    lines.set(path, ofFile);
    return ofFile[line - 1];
  };
}
