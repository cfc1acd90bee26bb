import { dirname, isAbsolute, join, normalize } from 'node:path';
import { unquoted } from '../../../../shared/config-file/quote.ts';
import type { Word } from '../../../../shared/config-file/word.ts';
import { accepted, type Parsed, refused } from '../../../../shared/values/parsed.ts';
import type { Files } from './files.ts';

/** The path of a file that a word names: a relative path starts at the file that contains the word. */
const pathNamedBy = ({ text, path }: Word): string => (isAbsolute(text) ? normalize(text) : join(dirname(path), text));

/** The content of the file that a word names, as text. A refusal includes the path if it differs from the word. */
export function textNamedBy(word: Word, files: Files): Parsed<string> {
  const path = pathNamedBy(word);
  const content = files.read(path);
  if (content.ok) return accepted(content.value.toString('utf8'));
  return refused(path === word.text ? content.reason : `${unquoted(path)}: ${content.reason}`);
}
