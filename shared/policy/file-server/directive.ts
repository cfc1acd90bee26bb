import { didYouMean } from '../../closest.ts';
import type { Directive, DirectiveContext, Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { FORMATS, type FormatName } from '../encode/formats.ts';
import { MAX_NAMES, parseFileName, parseRoot } from './values.ts';

type FileServer = {
  root?: string | undefined;
  index?: string[] | undefined;
  hide?: string[] | undefined;
  browse?: boolean | undefined;
  precompressed?: FormatName[] | undefined;
  status?: number | undefined;
  dot_files?: boolean | undefined;
};

type Report = DirectiveContext['report'];

/** What each line takes: its form and number of arguments. */
const LINES: ReadonlyMap<string, readonly [form: string, least: number, most: number]> = new Map([
  ['root', ['root <directory>', 1, 1]],
  ['index', ['index <name> [<name> …]', 1, MAX_NAMES]],
  ['hide', ['hide <name> [<name> …]', 1, MAX_NAMES]],
  ['browse', ['browse', 0, 0]],
  ['precompressed', ['precompressed [zstd] [br] [gzip]', 0, FORMATS.length]],
  ['status', ['status <status>', 1, 1]],
  ['dot_files', ['dot_files', 0, 0]],
]);
const WORDS = [...LINES.keys()];

/** Lines of Caddy's block. */
const FOREIGN: ReadonlyMap<string, string> = new Map([
  ['disable_canonical_uris', 'a directory without its slash is always redirected'],
  ['pass_thru', 'write try_files, or a handle for the paths of the upstream'],
  ['fs', 'virtual file systems are not supported'],
  ['etag_file_extensions', 'the ETag is made from the size and the time of the file'],
]);

export const fileServerDirective: Grammar<{ file_server?: FileServer | null | undefined }> = {
  name: 'file_server',
  otherNames: ['autoindex', 'static'],
  form: `file_server [browse] [{ ${[...LINES.values()].map(([form]) => form).join('; ')} }]`,
  args: [0, 1],
  block: 'optional',
  repeats: false,
  answers: true,
  foreign: FOREIGN,
  read({ args: [browse], block }, part, { report }) {
    const spec: FileServer = {};
    part.file_server = spec;
    if (browse?.text === 'browse') spec.browse = true;
    else if (browse)
      report.error(browse, `file_server ${quote(browse.text)}: write file_server or file_server browse, inside a handle to choose paths`);
    const seen = new Set<string>();
    for (const line of block?.lines ?? []) {
      if (seen.has(line.name.text)) report.error(line.name, `file_server has ${line.name.text} twice: keep one`);
      seen.add(line.name.text);
      readLine(line, spec, report);
    }
  },
};

function readLine({ name, args, block }: Directive, spec: FileServer, report: Report): void {
  const instead = FOREIGN.get(name.text);
  if (instead !== undefined) return report.error(name, `file_server ${quote(name.text)}: ${instead}`);
  const known = LINES.get(name.text);
  if (!known) return report.error(name, `file_server ${quote(name.text)}${didYouMean(name.text, WORDS) || `: write ${WORDS.join(', ')}`}`);
  const [form, least, most] = known;
  if (block) return report.error(block.open, `${name.text} takes no block: write ${form}`);
  if (args.length < least) return report.error(name, `${name.text} is missing an argument: write ${form}`);
  const extra = args[most];
  if (extra) return report.error(extra, `${quote(extra.text)} is one argument too many for ${name.text}: write ${form}`);
  const [first] = args;
  if (name.text === 'browse') spec.browse = true;
  else if (name.text === 'dot_files') spec.dot_files = true;
  else if (name.text === 'index') spec.index = namesIn(name, args, report);
  else if (name.text === 'hide') spec.hide = namesIn(name, args, report);
  else if (name.text === 'precompressed') spec.precompressed = formatsIn(args, report);
  else if (name.text === 'root' && first) {
    const root = parseRoot(first.text);
    if (root.ok) spec.root = root.value;
    else report.error(first, `root ${quote(first.text)}: ${root.reason}`);
  } else if (first) {
    if (/^[2-5]\d\d$/.test(first.text) && !WITHOUT_BODY.has(first.text)) spec.status = Number(first.text);
    else report.error(first, `status ${quote(first.text)}: write a status with a body, from 200 to 599`);
  }
}

const WITHOUT_BODY: ReadonlySet<string> = new Set(['204', '205', '206', '304']);

function namesIn(line: Word, words: readonly Word[], report: Report): string[] {
  return words.flatMap((word) => {
    const name = parseFileName(word.text);
    if (name.ok) return [name.value];
    report.error(word, `${line.text} ${quote(word.text)}: ${name.reason}`);
    return [];
  });
}

function formatsIn(words: readonly Word[], report: Report): FormatName[] {
  const formats: FormatName[] = [];
  for (const word of words) {
    const format = FORMATS.find((known) => known === word.text);
    if (format === undefined) report.error(word, `precompressed ${quote(word.text)}: write zstd, br and gzip`);
    else if (formats.includes(format)) report.error(word, `precompressed names ${format} twice`);
    else formats.push(format);
  }
  return words.length === 0 ? [...FORMATS] : formats;
}
