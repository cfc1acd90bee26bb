/** Quotation marks of languages, shells and nginx, each with what closes it. They are letters like others in a Sluicefile. */
const CLOSING: ReadonlyMap<string, string> = new Map([
  ["'", "'"],
  ['‘', '’'],
  ['’', '’'],
  ['‚', '‘’'],
  ['“', '”'],
  ['”', '”'],
  ['„', '“”'],
  ['«', '»'],
  ['»', '«'],
]);

/** The quotation mark that begins a bare word and does not quote anything; `isClosed` if the word also ends with it. */
export function otherQuote(word: string): { readonly mark: string; readonly isClosed: boolean } | undefined {
  const mark = word.charAt(0);
  const closing = CLOSING.get(mark);
  if (closing === undefined || word.length < 2) return undefined;
  return { mark, isClosed: closing.includes(word.charAt(word.length - 1)) };
}
