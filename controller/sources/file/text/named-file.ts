import { dirname, isAbsolute, join, normalize } from 'node:path';
import { said } from '../../../../shared/config-file/quote.ts';
import type { Word } from '../../../../shared/config-file/word.ts';
import { accepted, type Parsed, refused } from '../../../../shared/values/parsed.ts';
import type { Files } from './files.ts';

/** Where a file is that a word names: a relative path begins at the file that the word stands in. */
export const pathNamedBy = ({ text, path }: Word): string => (isAbsolute(text) ? normalize(text) : join(dirname(path), text));

/** What a file holds that a word names, as text. A refusal names the path where that is not what was written. */
export function textNamedBy(word: Word, files: Files): Parsed<string> {
  const path = pathNamedBy(word);
  const content = files.read(path);
  if (content.ok) return accepted(content.value.toString('utf8'));
  return refused(path === word.text ? content.reason : `${said(path)}: ${content.reason}`);
}
