import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';
import type { Token } from '../tokens/lexer.ts';
import { replay } from '../tokens/lexer.ts';
import { createBudget } from '../variables/read-context.ts';
import { advance, type Cursor, here, skipLineEnds, startOf } from './cursor.ts';
import { blockAfter, readBlock } from './lines.ts';

/** Reports mismatched braces of a text. Its lines are not interpreted, because it may be an imported text of sites or of directives. */
export function checkStructure(tokens: readonly Token[], report: DiagnosticReport): void {
  const cursor = startOf(replay(tokens), { env: 'unknown', args: 'unknown', from: undefined, report, budget: createBudget() });
  for (;;) {
    skipLineEnds(cursor);
    const { kind } = cursor.token;
    if (kind === 'end') return;
    if (kind === 'word') checkLine(cursor);
    else if (kind === 'open') readBlock(cursor, 1);
    else {
      report.error(here(cursor), '"}" closes nothing: delete it');
      advance(cursor);
    }
  }
}

function checkLine(cursor: Cursor): void {
  const owner = cursor.token.raw;
  while (cursor.token.kind === 'word') advance(cursor);
  blockAfter(cursor, owner, 1);
}
