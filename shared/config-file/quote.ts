/**
 * What somebody wrote in a config file, as messages repeat it: marked, since whether it may be repeated is decided where the
 * message is taken.
 */

/** Noncharacters, which text in a message never holds: there they are spelt out. */
const START = '\ufdd0';
const END = '\ufdd1';
/** What stands between marks, with the quotes around it. */
export const MARKED = /\ufdd0("?)([^\ufdd0\ufdd1]*?)("?)\ufdd1/g;
export const MARKS = /[\ufdd0\ufdd1]/g;

/** Characters of a word that are looked at. */
export const LONGEST_SEEN = 4_096;

/** What someone typed, in quotes, short, and with what can't be seen spelt out. */
export const quote = (text: string): string => `${START}"${spelt(text)}"${END}`;

/** The same without quotes, where the message itself says what to write. */
export const said = (text: string): string => `${START}${spelt(text)}${END}`;

export function spelt(text: string): string {
  let shown = '';
  for (const char of text.length > LONGEST_SEEN ? text.slice(0, LONGEST_SEEN) : text)
    shown += /[\p{C}\p{Z}]/u.test(char) && char !== ' ' ? `<${codePointName(char)}>` : char;
  return shown;
}

/** `U+00A0` for a character, as people look it up. */
export function codePointName(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
