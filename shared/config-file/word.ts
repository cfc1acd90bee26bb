/** A position in a file. Lines and columns count from 1, columns in characters (code points). */
export type Position = {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  /** Where this text was imported; absent in the main file. */
  readonly from?: Import | undefined;
};

/** One import: the directive that requests it, and what it imports. */
export type Import = {
  /** The position of the word `import`; its own `from` leads to the outermost file. */
  readonly at: Position;
  /** Equal for two imports of the same text. */
  readonly key: string;
  /** For display: a path, or a snippet as `(name)`. */
  readonly label: string;
};

/** One word of a file, with variables and escapes resolved. `column` is where it begins, including the quotation mark. */
export type Word = Position & {
  readonly text: string;
  /** Bare, in double quotes, or in backquotes, where nothing is resolved. */
  readonly style: 'bare' | 'quoted' | 'raw';
  /** Whether `text` is exactly the text in the file, so that positions inside it are known. */
  readonly exact: boolean;
};

/** Splits a word at its commas. The parts are empty where commas are adjacent or at an end. */
export function splitAtCommas(word: Word): Word[] {
  if (word.style !== 'bare' || !word.text.includes(',')) return [word];
  const parts: Word[] = [];
  let column = word.column;
  for (const text of word.text.split(',')) {
    parts.push(word.exact ? { ...word, text, column } : { ...word, text: text.trim() });
    column += characters(text) + 1;
  }
  return parts;
}

/** The number of characters (code points) in a text. */
export function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** A position as seen from `reader`: `line 4`, or `path:4` in another file. */
export function lineOf(place: Position, reader: Position): string {
  return place.path === reader.path ? `line ${place.line}` : `${place.path}:${place.line}`;
}

/** Whether a word names a matcher. */
export const isMatcher = ({ text, style }: Word): boolean => style === 'bare' && text.startsWith('@');
