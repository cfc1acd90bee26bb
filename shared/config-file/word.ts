/** A place in a file. Lines and columns count from 1, columns in characters (code points). */
export type Place = {
  readonly path: string;
  readonly line: number;
  readonly column: number;
  /** Where this text was imported; absent in the file that was named to begin with. */
  readonly from?: Import | undefined;
};

/** One import: which directive asks for it, and what it brings in. */
export type Import = {
  /** The place of the word `import`, whose own `from` leads on to the outermost file. */
  readonly at: Place;
  /** The same for two imports of the same text. */
  readonly key: string;
  /** For people: a path, or a snippet as `(name)`. */
  readonly label: string;
};

/** One word of a file, with its variables and escapes resolved. `column` is where it begins, quote included. */
export type Word = Place & {
  readonly text: string;
  /** Bare, in double quotes, or in backquotes, where nothing is resolved. */
  readonly style: 'bare' | 'quoted' | 'raw';
  /** Whether `text` is what stands in the file, character by character, so that a place inside it is known. */
  readonly exact: boolean;
};

/** The words between the commas of one word; empty ones where commas stand side by side or at an end. */
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

/** How many characters (code points) a text has. */
export function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** How a place is named to someone who looks at `reader`: `line 4`, or `path:4` in another file. */
export function lineOf(place: Place, reader: Place): string {
  return place.path === reader.path ? `line ${place.line}` : `${place.path}:${place.line}`;
}

/** Whether a word names a matcher. */
export const isMatcher = ({ text, style }: Word): boolean => style === 'bare' && text.startsWith('@');
