import { parseTemplate } from '../../placeholders/template.ts';
import { accepted, type Parsed, refused } from '../../values/parsed.ts';

/** The maximum number of files that are tried for a page. */
export const MAX_PATHS = 20;
const LONGEST_PATH = 2_048;

/** The path of a page below the root, in which placeholders are replaced. */
export function parseErrorFile(text: string): Parsed<string> {
  if (text.startsWith('=')) return refused('the error keeps its status; write a file such as /404.html');
  if (text.length > LONGEST_PATH) return refused(`a path is at most ${LONGEST_PATH} characters long`);
  const template = parseTemplate(text, 'answer');
  if ('fault' in template) return refused(`"${template.written}" ${template.fault}`);
  const [first] = template.parts;
  if (first === undefined || ('text' in first && !first.text.startsWith('/'))) return refused('begin the path with "/"');
  const literal = template.parts.map((part) => ('text' in part ? part.text : '')).join('');
  if (/[\\\0?#]/.test(literal) || /(?:^|\/)\.\.?(?:\/|$)/.test(literal)) return refused('write a path without "..", query and backslashes');
  return accepted(text);
}
