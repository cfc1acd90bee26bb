import { type Diagnostic, formatDiagnostic } from '../../sources/file/diagnostics/diagnostics.ts';
import type { Screen, Terminal } from './command.ts';
import { plain } from './terminal.ts';

/**
 * Writes problems of a config file to stderr: one `PATH:LINE:COL: message` per line and, on a terminal, the line of the file with a
 * marker under the word. Each starts with `kind` unless it is an error.
 */
export function reportProblems(problems: readonly Diagnostic[], terminal: Terminal, kind: 'error' | 'warning'): void {
  const screen = terminal.stderr ?? null;
  for (const problem of problems) {
    const line = `${kind === 'warning' ? 'warning: ' : ''}${formatDiagnostic(problem)}`;
    terminal.err(screen === null ? `${line}\n` : `${inColour(screen, kind, line)}\n${excerptOf(problem, screen, kind)}`);
  }
}

const COLOURS = { error: '31;1', warning: '33;1' } as const;

const inColour = ({ colour }: Screen, kind: keyof typeof COLOURS, text: string): string =>
  colour ? `\u001b[${COLOURS[kind]}m${text}\u001b[0m` : text;

/** Two lines, the file's own and the markers under it, or none if the line is not available. */
export function excerptOf({ place, text }: Diagnostic, screen: Screen, kind: 'error' | 'warning'): string {
  if (place === null || text === undefined) return '';
  const number = String(place.line);
  const room = Math.max(20, screen.columns - number.length - 6);
  const characters = [...plain(text)];
  const start = Math.min(place.column - 1, characters.length);
  const length = markedLength(characters, start);
  // Scrolls to a word far to the right, with some context before it.
  const from = start + Math.min(length, room) <= room ? 0 : Math.max(0, start - Math.floor(room / 4));
  const shown = characters.slice(from, from + room).join('');
  const marks = '^'.repeat(Math.max(1, widthOf(characters.slice(start, Math.min(start + length, from + room)))));
  const before = ' '.repeat(widthOf(characters.slice(from, start)));
  const margin = ' '.repeat(number.length);
  return `  ${number} | ${shown}\n  ${margin} | ${before}${inColour(screen, kind, marks)}\n`;
}

/** The length of the word or string that begins at `start`; one if there is none. */
function markedLength(characters: readonly string[], start: number): number {
  const first = characters[start] ?? ' ';
  const ends = (char: string): boolean => (first === '"' || first === '`' ? char === first : char === ' ');
  const end = characters.findIndex((char, index) => index > start && ends(char));
  const length = (end < 0 ? characters.length : end) - start;
  return Math.max(1, first === '"' || first === '`' ? length + 1 : length);
}

const WIDE = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

/** The width in terminal columns. */
function widthOf(characters: readonly string[]): number {
  let width = 0;
  for (const char of characters) width += /\p{M}/u.test(char) ? 0 : WIDE.test(char) ? 2 : 1;
  return width;
}
