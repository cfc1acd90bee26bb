import type { Directive, DirectiveBlock } from '../../../shared/config-file/directive.ts';
import type { Word } from '../../../shared/config-file/word.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import type { Globals } from '../../../shared/settings.ts';
import { type Collected, collectDiagnostics } from './diagnostics/diagnostics.ts';
import type { Context } from './directives/rule.ts';
import { createImports, type ImportedText, type Imports } from './imports/imports.ts';
import { readLines } from './sites/block.ts';
import { GLOBAL_RULES, type GlobalsDraft } from './sites/globals.ts';
import type { Files } from './text/files.ts';
import { textNamedBy } from './text/named-file.ts';
import { readText } from './text/text.ts';
import { createLexer } from './tokens/lexer.ts';
import { parseLines } from './tree/lines.ts';
import { parse } from './tree/parser.ts';
import type { FilePart } from './tree/syntax.ts';
import { type Budget, createBudget, type Environment } from './variables/read-context.ts';

/** What a file and its imports share while they are read. */
export type Reading = {
  readonly report: Collected;
  readonly imports: Imports;
  readonly budget: Budget;
  readonly context: Pick<Context, 'report' | 'expanded' | 'textOf' | 'now' | 'sourceWords'>;
  /** The text of the file itself; null if it is no text, which is reported. */
  readonly text: string | null;
};

/** Begins to read the bytes of a file; `path` is what diagnostics and origins call it, and where its imports are looked for. */
export function beginReading(bytes: Buffer, path: string, env: Environment, files: Files): Reading {
  const report = collectDiagnostics(path);
  const budget = createBudget();
  const imports = createImports(env, files, report, budget);
  const expanded = (block: DirectiveBlock): DirectiveBlock => expand(block, imports, report);
  const textOf = (word: Word) => textNamedBy(word, files);
  const context = { report, expanded, textOf, now: systemClock.now(), sourceWords: new WeakMap() };
  return { report, imports, budget, context, text: readText(bytes, path, report) };
}

/** A site or a block of globals. `errorsBefore`: the number of errors before it was parsed. */
export type Part = { readonly part: Extract<FilePart, { kind: 'globals' | 'site' }>; readonly errorsBefore: number };

/** The parts of a file, in its order, with those of its imports in their place. Each is parsed when it is asked for. */
export function* partsOf(path: string, env: Environment, { text, report, budget, ...reading }: Reading): Generator<Part> {
  if (text === null) return;
  report.read(path, text);
  const tokens = createLexer(text, path, report);
  yield* partsOfText({ tokens, context: { env, report, args: null, from: undefined, budget } }, { ...reading, report });
}

function* partsOfText({ tokens, context }: ImportedText, reading: Pick<Reading, 'report' | 'imports'>): Generator<Part> {
  const { report, imports } = reading;
  let errorsBefore = report.count();
  for (const part of parse(tokens, context)) {
    if (!report.full()) {
      if (part.kind === 'import') for (const imported of imports.open(part.directive)) yield* partsOfText(imported, reading);
      else if (part.kind === 'snippet') imports.define(part);
      else yield { part, errorsBefore };
    }
    errorsBefore = report.count();
  }
}

/** Reads a block of globals. `unknown` explains a directive that does not exist. @returns null if it contains errors. */
export function readGlobals(
  block: DirectiveBlock,
  errorsBefore: number,
  { report, context }: Reading,
  unknown: Context['unknown'],
): Globals | null {
  const draft: GlobalsDraft = {};
  // No global has a block of directives.
  readLines(block, 'globals', GLOBAL_RULES, draft, [], { ...context, unknown, conditionFor: () => undefined, readBlock: () => undefined });
  return report.count() === errorsBefore ? draft : null;
}

/** The lines of a block and of the blocks in it, with imports replaced by their lines. */
function expand(block: DirectiveBlock, imports: Imports, report: Collected): DirectiveBlock {
  const whole = block.lines.some(isImport) ? withImports(block, imports, report) : block;
  const lines = whole.lines.map((line) => {
    const inner = line.block && expand(line.block, imports, report);
    return inner === line.block ? line : { ...line, block: inner };
  });
  return lines.every((line, nth) => line === whole.lines[nth]) ? whole : { ...whole, lines };
}

function withImports({ open, lines }: DirectiveBlock, imports: Imports, report: Collected): DirectiveBlock {
  const errors = report.count();
  return { open, lines: linesOf(lines, imports), incomplete: report.count() > errors };
}

function linesOf(lines: readonly Directive[], imports: Imports): Directive[] {
  return lines.flatMap((line) => {
    if (!isImport(line)) return [line];
    return imports.open(line).flatMap(({ tokens, context }) => linesOf(parseLines(tokens, context), imports));
  });
}

const isImport = ({ name }: Directive): boolean => name.text === 'import' && name.style === 'bare';
