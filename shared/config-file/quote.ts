/**
 * Quotes text from a config file in a message. The quote is marked, because only the receiver of the message knows whether it may be
 * repeated.
 */

/** Noncharacters, which never appear in quoted text: there they are spelled out. */
const START = '\ufdd0';
const END = '\ufdd1';
/** The text between two marks, including the quotation marks. */
export const MARKED = /\ufdd0("?)([^\ufdd0\ufdd1]*?)("?)\ufdd1/g;
export const MARKS = /[\ufdd0\ufdd1]/g;

/** How many characters of a word are examined. */
export const LONGEST_SEEN = 4_096;

/** Text from the user, quoted and shortened, with invisible characters spelled out. */
export const quote = (text: string): string => `${START}"${spelt(text)}"${END}`;

/** The same without quotation marks, for text that the message tells the user to write. */
export const unquoted = (text: string): string => `${START}${spelt(text)}${END}`;

/** Cut after `LONGEST_SEEN`, with the code points of characters that can't be seen. */
export function spelt(text: string): string {
  let shown = '';
  for (const char of text.length > LONGEST_SEEN ? text.slice(0, LONGEST_SEEN) : text)
    shown += /[\p{C}\p{Z}]/u.test(char) && char !== ' ' ? `<${codePointName(char)}>` : char;
  return shown;
}

/** `U+00A0` for a character, the form used for looking it up. */
export function codePointName(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
