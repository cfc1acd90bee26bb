import type { Terminal } from './command.ts';
import { plain, styled } from './terminal.ts';

const GAP = 2;
const NARROWEST = 8;

/**
 * A plain table: a header in capitals, padded columns, no lines. On a terminal the widest columns are shortened with an ellipsis until a
 * line fits; in a pipe nothing is shortened.
 */
export function table(terminal: Terminal, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const clean = rows.map((row) => row.map(plain));
  const widths = head.map((title, column) => clean.reduce((most, row) => Math.max(most, lengthOf(row[column] ?? '')), title.length));
  if (terminal.columns !== null) fit(widths, terminal.columns);
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => pad(cell, widths[column] ?? 0))
      .join(' '.repeat(GAP))
      .trimEnd();
  return [styled(terminal, 'bold', line(head)), ...clean.map(line), ''].join('\n');
}

/** Shortens the widest column until the line fits or every column has its minimum width. */
function fit(widths: number[], columns: number): void {
  let excess = widths.reduce((sum, width) => sum + width, 0) + GAP * (widths.length - 1) - columns;
  while (excess > 0) {
    const widest = Math.max(...widths);
    if (widest <= NARROWEST) return;
    widths[widths.indexOf(widest)] = widest - 1;
    excess -= 1;
  }
}

const lengthOf = (text: string): number => [...text].length;

function pad(text: string, width: number): string {
  const length = lengthOf(text);
  if (length <= width) return text + ' '.repeat(width - length);
  return `${[...text].slice(0, width - 1).join('')}…`;
}
