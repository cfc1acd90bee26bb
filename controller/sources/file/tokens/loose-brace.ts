import { quote } from '../../../../shared/config-file/quote.ts';

/** A longer word (characters) is accepted as it is, even with a brace in it: it is neither an address nor a directive. */
const LONGEST_CUT = 256;

/** A brace without a partner in a word. */
export type LooseBrace = {
  readonly index: number;
  readonly message: string;
  /** A common mistake: `example.com{` is read as `example.com {`, and so on. */
  readonly isCut: boolean;
};

/** The first brace without a partner in a word: none in `{host}`, one in `example.com{`. An unclosed variable does not count. */
export function looseBrace(word: string): LooseBrace | null {
  if (!word.includes('{') && !word.includes('}')) return null;
  const index = withoutPartner(word);
  if (index < 0 || word.startsWith('{$', index)) return null;
  const isCut = word.length <= LONGEST_CUT && (index === 0 || index === word.length - 1);
  const brace = word.charAt(index);
  const message = isCut
    ? `"${brace}" must be separate: put a space or a line end before and after it`
    : `"${brace}" has no partner in ${quote(word)}: close it, or put the word in backquotes`;
  return { index, message, isCut };
}

function withoutPartner(word: string): number {
  const opened: number[] = [];
  for (let index = 0; index < word.length; index++) {
    if (word[index] === '{') opened.push(index);
    else if (word[index] === '}' && opened.pop() === undefined) return index;
  }
  return opened[0] ?? -1;
}
