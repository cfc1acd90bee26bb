import type { DirectiveBlock } from '../../../shared/config-file/directive.ts';
import { quote } from '../../../shared/config-file/quote.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { refused } from '../../../shared/values/parsed.ts';
import type { DirectiveReader } from '../directive-reader.ts';
import { collectDiagnostics, type Diagnostic } from './diagnostics/diagnostics.ts';
import { SITE_RULES } from './directives/directives.ts';
import { type Context, emptyDraft } from './directives/rule.ts';
import { readLines } from './sites/block.ts';
import { explainUnknown } from './sites/unknown-directive.ts';
import { readText } from './text/text.ts';
import { createLexer } from './tokens/lexer.ts';
import { parseLines } from './tree/lines.ts';
import { createBudget } from './variables/read-context.ts';

/** Reads one directive that is not in a file: see DirectiveReader. */
export const readSingleDirective: DirectiveReader = (name, text) => {
  const report = collectDiagnostics(name);
  const written = readText(Buffer.from(withName(name, text)), name, report) ?? '';
  report.read(name, written);
  const lines = parseLines(createLexer(written, name, report), { env: {}, report, args: null, from: undefined, budget: createBudget() });
  for (const line of lines) if (line.name.text !== name) report.error(line.name, `${quote(line.name.text)} is another directive`);
  const block: DirectiveBlock = { open: { path: name, line: 1, column: 1 }, lines: lines.filter((line) => line.name.text === name) };
  const draft = emptyDraft();
  const context: Context = {
    report,
    now: systemClock.now(),
    sourceWords: new WeakMap(),
    expanded: (inner) => inner,
    textOf: () => refused('a file can’t be named here'),
    conditionFor(directive, matcher) {
      report.error(matcher, `${directive} can have no matcher here`);
      return undefined;
    },
    unknown: explainUnknown,
    readBlock: () => undefined,
  };
  readLines(block, 'site', SITE_RULES, draft, draft.seen, context);
  const errors = report.errors();
  const isLong = written.includes('\n');
  return errors.length === 0 ? { members: draft.members } : { reasons: errors.map((error) => described(error, isLong)) };
};

/** A text whose first line opens a block is a single directive. Otherwise each line is one. */
function withName(name: string, text: string): string {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (lines[0]?.endsWith('{') || lines.length < 2) return `${name} ${text.trim()}`;
  return lines.map((line) => `${name} ${line}`).join('\n');
}

const described = ({ place, message }: Diagnostic, isLong: boolean): string =>
  isLong && place !== null ? `line ${place.line}: ${message}` : message;
