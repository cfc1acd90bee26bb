import type { Scope } from '../placeholders/names.ts';
import { escapedBraces, isConstant, parseTemplate } from '../placeholders/template.ts';
import { quote } from './quote.ts';
import type { Word } from './word.ts';

/**
 * The text of a word that may contain placeholders, as routes have it: in backquotes nothing is one.
 * @returns what is wrong with a placeholder in it, if there is anything.
 */
export function readTemplate(word: Word, scope: Scope): { readonly text: string } | { readonly fault: string } {
  const template = parseTemplate(word.text, scope);
  if (word.style === 'raw')
    return { text: 'parts' in template && isLiteral(template.parts, word.text) ? word.text : escapedBraces(word.text) };
  return 'fault' in template ? { fault: `${quote(template.written)} ${template.fault}` } : { text: word.text };
}

/** Whether a text means itself, without escapes. */
const isLiteral = (parts: Parameters<typeof isConstant>[0], text: string): boolean =>
  isConstant(parts) && parts.every((part) => 'text' in part && part.text === text);
