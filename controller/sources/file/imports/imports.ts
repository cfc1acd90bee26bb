import { dirname, isAbsolute, join, normalize } from 'node:path';
import { didYouMean } from '../../../../shared/closest.ts';
import type { Directive } from '../../../../shared/config-file/directive.ts';
import { quote, unquoted } from '../../../../shared/config-file/quote.ts';
import type { Position, Word } from '../../../../shared/config-file/word.ts';
import { type DiagnosticReport, positionOf } from '../diagnostics/diagnostics.ts';
import type { Files } from '../text/files.ts';
import { isGlob } from '../text/glob.ts';
import { NO_FILE } from '../text/read.ts';
import { readText } from '../text/text.ts';
import { createLexer, replay, type Tokens } from '../tokens/lexer.ts';
import { parseLines } from '../tree/lines.ts';
import type { Snippet } from '../tree/syntax.ts';
import type { Budget, Environment, ReadContext } from '../variables/read-context.ts';

/** The nesting depth of imports. */
const DEEPEST = 32;
/** The total number of imports of a file, so that a few lines can't expand without end. */
const MAX_IMPORTS = 200_000;
/** The total characters of all imports; a snippet counts four per word. */
const MAX_TEXT = 64 * 1_048_576;

const FORM = 'write import <snippet-or-file> [<argument> …]';

/** A text to be read in place of an import. */
export type ImportedText = { readonly tokens: Tokens; readonly context: ReadContext };

export type Imports = {
  /** Stores a snippet by name, for later imports. */
  define(snippet: Snippet): void;
  /** The text of an `import` line; undefined, and an error, if there is none. */
  open(directive: Directive): readonly ImportedText[];
};

/** The shared state of all imports of one compilation. */
type State = {
  readonly env: Environment;
  readonly files: Files;
  readonly report: DiagnosticReport;
  readonly budget: Budget;
  readonly snippets: Map<string, Snippet>;
  /** File contents by path: a file may be imported many times. */
  readonly texts: Map<string, string | null>;
  imports: number;
  characters: number;
  /** The limit was reached and reported: nothing more is imported. */
  spent: boolean;
};

export function createImports(env: Environment, files: Files, report: DiagnosticReport, budget: Budget): Imports {
  const state: State = { env, files, report, budget, snippets: new Map(), texts: new Map(), imports: 0, characters: 0, spent: false };
  return { define: (snippet) => define(snippet, state), open: (directive) => open(directive, state) };
}

const SNIPPET_NAME = /^\([^()/*?{}]+\)$/;

function define(snippet: Snippet, { snippets, report, env, budget }: State): void {
  const { name, tokens } = snippet;
  if (!SNIPPET_NAME.test(name.text)) return report.error(name, `${quote(name.text)} is not a valid snippet name: write (name) { … }`);
  const earlier = snippets.get(name.text);
  if (earlier)
    return report.error(name, `the snippet ${unquoted(name.text)} is already defined at ${positionOf(earlier.name)}; rename one of them`);
  snippets.set(name.text, snippet);
  // Its structure is checked whether or not it is imported.
  parseLines(replay(tokens), { env, report, args: 'unknown', from: name.from, budget });
}

function open({ name, args: [what, ...args], block }: Directive, state: State): readonly ImportedText[] {
  const { report, snippets } = state;
  if (state.spent || report.full()) return [];
  if (!what) return fail(report, name, `import is missing an argument: ${FORM}`);
  if (block) return fail(report, block.open, `import takes no block: ${FORM}`);
  const snippet = snippets.get(`(${what.text})`);
  if (snippet) {
    const key = `(${what.text}) ${positionOf(snippet.name)}`;
    const context = enter(name, what, { key, label: `(${what.text})` }, args, snippet.tokens.length * 4, state);
    return context ? [{ tokens: replay(snippet.tokens), context }] : [];
  }
  return pathsOf(what, state).flatMap((path) => openFile(path, name, what, args, state));
}

/** The files of an import, for display and for reading: relative to the file that contains the import. */
function pathsOf(what: Word, { files, report }: State): readonly string[] {
  if (what.text === '') return fail(report, what, `import "": ${FORM}`);
  const path = isAbsolute(what.text) ? normalize(what.text) : join(dirname(what.path), what.text);
  if (!isGlob(path)) return [path];
  if (what.text.includes('**'))
    return fail(report, what, `import ${quote(what.text)}: "**" is not supported; write one * for each directory, as in sites/*/*`);
  const found = files.glob(path);
  if (!found.ok) return fail(report, what, `import ${quote(what.text)}: ${found.reason}`);
  if (found.value.length === 0) report.warn(what, `import ${quote(what.text)} matches no file`);
  return found.value;
}

function openFile(path: string, name: Word, what: Word, args: readonly Word[], state: State): ImportedText[] {
  const { report, texts } = state;
  let text = texts.get(path);
  if (text === undefined) {
    text = readImported(path, name, what, state);
    texts.set(path, text);
  }
  if (text === null) return [];
  const context = enter(name, what, { key: path, label: path }, args, text.length, state);
  return context ? [{ tokens: createLexer(text, path, report), context }] : [];
}

function readImported(path: string, name: Word, what: Word, { files, report, snippets }: State): string | null {
  // Several files of a pattern may be wrong, so each error is reported for its file; otherwise for the line.
  const refuse = (why: string): null => {
    const shown = path === what.text ? '' : `${unquoted(path)}: `;
    if (isGlob(what.text)) report.error({ path, line: 1, column: 1, from: { at: placeOf(name), key: path, label: path } }, why);
    else report.error(what, `import ${quote(what.text)}: ${shown}${why}`);
    return null;
  };
  const content = files.read(path);
  if (!content.ok && !/[./*?]/.test(what.text)) {
    const names = [...snippets.keys()].map((snippet) => snippet.slice(1, -1));
    const none = content.reason === NO_FILE ? `no file ${unquoted(path)}` : `${unquoted(path)} is no file`;
    const why = `there is no snippet ${unquoted(`(${what.text})`)} before this line, and ${none}${didYouMean(what.text, names)}`;
    report.error(what, `import ${quote(what.text)}: ${why}`);
    return null;
  }
  if (!content.ok) return refuse(content.reason);
  const text = readText(content.value, path, report);
  if (text === null) return null;
  report.read(path, text);
  if (text.trim() !== '') return text;
  return refuse('the file is empty: write what it is for, or a comment if nothing is meant');
}

/** The context for reading an imported text; undefined, and an error, if the import would never end. */
function enter(
  name: Word,
  what: Word,
  { key, label }: { key: string; label: string },
  args: readonly Word[],
  cost: number,
  state: State,
): ReadContext | undefined {
  const { report, env, budget } = state;
  const chain = chainOf(name);
  state.imports++;
  state.characters += cost;
  state.spent = state.imports > MAX_IMPORTS || state.characters > MAX_TEXT;
  if (chain.some((link) => link.key === key))
    report.error(what, `this import never ends: ${[...chain.map((link) => link.label).reverse(), label].join(' > ')}`);
  else if (chain.length > DEEPEST) report.error(what, `imports are nested more than ${DEEPEST} deep`);
  else if (state.spent) report.error(what, `too much is imported: the limits are ${MAX_IMPORTS} imports and 64 MB in all`);
  else return { env, report, budget, args: args.map(({ text }) => text), from: { at: placeOf(name), key, label } };
  return undefined;
}

/** The chain of texts being read at an import, innermost first. */
function chainOf(name: Word): { key: string; label: string }[] {
  const chain: { key: string; label: string }[] = [];
  let at: Position = name;
  for (; at.from; at = at.from.at) chain.push(at.from);
  chain.push({ key: normalize(at.path), label: at.path });
  return chain;
}

const placeOf = ({ path, line, column, from }: Word): Position => ({ path, line, column, from });

function fail(report: DiagnosticReport, place: Position, message: string): [] {
  report.error(place, message);
  return [];
}
