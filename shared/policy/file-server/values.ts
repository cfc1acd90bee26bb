import { parseTemplate } from '../../placeholders/template.ts';
import { accepted, type Parsed, refused } from '../../values/parsed.ts';

/** Most index files, hidden names and files to try. */
export const MAX_NAMES = 100;
const LONGEST_ROOT = 4_096;
/** Characters; the longest name of a file is 255 bytes. */
const LONGEST_NAME = 255;
const LONGEST_TRIED = 2_048;

/** A directory on the machine of the data plane, without a slash at its end. */
export function parseRoot(text: string): Parsed<string> {
  if (!text.startsWith('/'))
    return refused('write an absolute path such as /srv/www: the data plane reads it, and may run in another directory');
  if (text.includes('\0') || text.length > LONGEST_ROOT) return refused(`a path is at most ${LONGEST_ROOT} characters long and has no NUL`);
  if (/\/\.\.?(?:\/|$)/.test(text)) return refused('write the path without "." and ".." as a segment');
  return accepted(text.replace(/\/{2,}/g, '/').replace(/(?<=.)\/$/, ''));
}

/** The name of a file, without its directory. */
export function parseFileName(text: string): Parsed<string> {
  if (text === '' || text === '.' || text === '..' || /[/\\\0]/.test(text) || text.length > LONGEST_NAME)
    return refused('write the name of a file without its directory, such as index.html');
  return accepted(text);
}

/** A file to try, relative to the root: `{path}` is the path of the request, `=404` a status. */
export function parseTried(text: string): Parsed<string> {
  if (text.startsWith('=')) return /^=[45]\d\d$/.test(text) ? accepted(text) : refused('a status is written as =404, from 400 to 599');
  if (text.length > LONGEST_TRIED) return refused(`a file to try is at most ${LONGEST_TRIED} characters long`);
  const template = parseTemplate(text, 'request');
  if ('fault' in template) return refused(`"${template.written}" ${template.fault}`);
  for (const part of template.parts)
    if ('placeholder' in part && part.placeholder.name !== PATH) return refused('only {path} may be part of a file to try');
  const [first] = template.parts;
  if (first === undefined || ('text' in first && !first.text.startsWith('/'))) return refused('begin it with {path} or "/"');
  const literal = template.parts.map((part) => ('text' in part ? part.text : '')).join('');
  if (literal.includes('*')) return refused('a file to try has no "*": to choose paths, write it in a handle block');
  if (/[\\\0?#]/.test(literal) || /(?:^|\/)\.\.?(?:\/|$)/.test(literal)) return refused('write a path without "..", query and backslashes');
  return accepted(text);
}

export const PATH = 'http.request.uri.path';
