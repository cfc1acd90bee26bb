import type { Directive, DirectiveContext } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { parseRoot } from '../file-server/values.ts';
import { MAX_PATHS, parseErrorFile } from './error-file.ts';

type Report = DirectiveContext['report'];
type ErrorFiles = { root?: string | undefined; paths: string[] };

/** The lines with which a Caddyfile serves pages from files. */
const FORMS = {
  root: 'root [*] <directory>',
  rewrite: 'rewrite [*] <path>',
  try_files: 'try_files <file> [<file> …]',
  file_server: 'file_server',
} as const;

export const FILE_WORDS = ['root', 'rewrite', 'try_files', 'file_server'] as const;
type FileWord = (typeof FILE_WORDS)[number];

const wordOf = ({ name }: Directive): FileWord | undefined => FILE_WORDS.find((known) => known === name.text);

export const isFileLine = (line: Directive): boolean => wordOf(line) !== undefined;

/** Reads all of them together; `{path}` in try_files is what rewrite makes of the path. */
export function readFileLines(lines: readonly Directive[], report: Report): ErrorFiles {
  const files: ErrorFiles = { paths: [] };
  const seen = new Map<FileWord, readonly string[]>();
  for (const line of lines) {
    const word = wordOf(line);
    if (word === undefined) continue;
    if (seen.has(word)) report.error(line.name, `handle_errors has ${word} twice: keep one`);
    else seen.set(word, readArguments(line, word, files, report));
  }
  const [first] = lines;
  const rewritten = seen.get('rewrite')?.[0];
  const tried = seen.get('try_files');
  files.paths = [...(tried ?? (rewritten === undefined ? [] : ['{path}']))].map((file) =>
    rewritten === undefined ? file : file.replace(/\{(?:http\.request\.uri\.)?path\}/g, () => rewritten),
  );
  if (!first) return files;
  if (!seen.has('file_server')) report.error(first.name, `${first.name.text} in handle_errors needs file_server there`);
  else if (rewritten === undefined && tried === undefined)
    report.error(first.name, 'handle_errors does not say which file is the page: write rewrite /{err.status_code}.html');
  return files;
}

function readArguments({ name, args, block }: Directive, word: FileWord, files: ErrorFiles, report: Report): readonly string[] {
  const form = FORMS[word];
  if (block) report.error(block.open, `${word} takes no block in handle_errors: write ${form}`);
  // A Caddyfile has "*" before a path, which would otherwise be a matcher.
  const own = (word === 'root' || word === 'rewrite') && args.length === 2 ? args.slice(1) : args;
  const [first] = args;
  if (own !== args && first && first.text !== '*')
    report.error(first, `${word} ${quote(first.text)}: write handle_errors 404 { … } to choose errors`);
  const most = word === 'try_files' ? MAX_PATHS : word === 'file_server' ? 0 : 1;
  const extra = own[most];
  if (extra) report.error(extra, `${quote(extra.text)} is one argument too many for ${word} in handle_errors: write ${form}`);
  else if (own.length === 0 && word !== 'file_server') report.error(name, `${word} is missing an argument: write ${form}`);
  if (word === 'file_server') return [];
  if (word === 'root') files.root = rootIn(own[0], report);
  else for (const file of own) reportFile(word, file, report);
  return own.map(({ text }) => text);
}

function rootIn(word: Word | undefined, report: Report): string | undefined {
  if (!word) return undefined;
  const root = parseRoot(word.text);
  if (root.ok) return root.value;
  report.error(word, `root ${quote(word.text)}: ${root.reason}`);
  return undefined;
}

function reportFile(word: FileWord, file: Word, report: Report): void {
  const path = parseErrorFile(file.text);
  if (!path.ok) report.error(file, `${word} ${quote(file.text)}: ${path.reason}`);
}
