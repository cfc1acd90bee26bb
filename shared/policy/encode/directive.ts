import { didYouMean } from '../../closest.ts';
import type { Directive, DirectiveContext, Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { parseSize } from '../../values/size.ts';
import { parseStatusOrClass, type StatusOrClass } from '../../values/status.ts';
import { FORMATS, type Format, type FormatName, parseLevel, parseTypePattern } from './formats.ts';

/** As in Caddy (bytes). */
export const DEFAULT_MINIMUM = 512;
export const MAX_MINIMUM = 2 ** 30;
/** The maximum number of types, and of statuses. */
export const MAX_LINES = 100;

const LINES = ['zstd [<level>]', 'br [<level>]', 'gzip [<level>]', 'minimum_length <bytes>', 'match { … }', 'with_cookies'];
const WORDS = LINES.map((line) => line.replace(/ .*/, ''));
const MATCH = 'status <status> [<status> …] or header Content-Type <type>';

type Encode = {
  formats: Format[];
  minimum_length?: number | undefined;
  types?: string[] | undefined;
  statuses?: StatusOrClass[] | undefined;
  with_cookies?: boolean | undefined;
};

export const encodeDirective: Grammar<{ encode?: Encode | null | undefined }> = {
  name: 'encode',
  otherNames: ['gzip', 'compress', 'brotli', 'gzip_types'],
  form: `encode [zstd] [br] [gzip] [{ … }], or encode off`,
  args: [0, 3],
  block: 'optional',
  repeats: false,
  read({ args, block }, part, { report }) {
    const encode: Encode = { formats: [] };
    part.encode = encode;
    const [off, more] = args;
    if (off?.text === 'off') {
      if (more) report.error(more, 'encode off takes no other argument');
      if (block) report.error(block.open, 'encode off takes no block');
      return;
    }
    for (const word of args) addFormat(word, undefined, encode, report);
    for (const line of block?.lines ?? []) readLine(line, encode, report);
    if (encode.formats.length === 0) encode.formats = FORMATS.map((name) => ({ name }));
  },
};

function readLine(line: Directive, encode: Encode, report: DirectiveContext['report']): void {
  const { name, args, block } = line;
  const form = LINES[WORDS.indexOf(name.text)];
  if (form === undefined)
    return report.error(name, `encode ${quote(name.text)}${didYouMean(name.text, WORDS) || `: write ${LINES.join(', ')}`}`);
  const most = form.endsWith(']') || form.endsWith('>') ? 1 : 0;
  const extra = args[most];
  if (extra) return report.error(extra, `${quote(extra.text)} is one argument too many for ${name.text}: write ${form}`);
  if (block && name.text !== 'match') return report.error(block.open, `${name.text} takes no block: write ${form}`);
  if (name.text === 'with_cookies') encode.with_cookies = true;
  else if (name.text === 'match') {
    if (!block) return report.error(name, `match is missing its block: write ${MATCH}`);
    for (const inner of block.lines) readMatch(inner, encode, report);
  } else if (name.text === 'minimum_length') readMinimum(name, args[0], encode, report);
  else addFormat(name, args[0], encode, report);
}

function addFormat(word: Word, level: Word | undefined, encode: Encode, report: DirectiveContext['report']): void {
  const name = FORMATS.find((known) => known === word.text);
  if (name === undefined)
    return report.error(word, `encode ${quote(word.text)}${didYouMean(word.text, FORMATS) || ': write zstd, br or gzip'}`);
  let format = encode.formats.find((known) => known.name === name);
  if (format && level === undefined) return report.error(word, `encode names ${name} twice`);
  if (!format) {
    format = { name };
    encode.formats.push(format);
  }
  if (level !== undefined) readLevel(name, level, format, report);
}

/** A format that is an argument may have its level in the block. */
function readLevel(name: FormatName, word: Word, format: Format, report: DirectiveContext['report']): void {
  const level = parseLevel(name, word.text);
  if (!level.ok) return report.error(word, `${name} ${quote(word.text)}: ${level.reason}`);
  if (format.level !== undefined) return report.error(word, `${name} has two levels`);
  format.level = level.value;
}

function readMinimum(name: Word, word: Word | undefined, encode: Encode, report: DirectiveContext['report']): void {
  if (!word) return report.error(name, 'minimum_length is missing an argument: write minimum_length <bytes>');
  const plain = /^\d{1,10}$/.test(word.text) ? `${word.text}b` : word.text;
  const size = parseSize(plain.length > 10 ? word.text : plain);
  if (!size.ok || size.value > MAX_MINIMUM)
    return report.error(word, `minimum_length ${quote(word.text)}: write bytes, such as 512, or a size of up to 1gb, such as 2kb`);
  encode.minimum_length = size.value;
}

function readMatch({ name, args, block }: Directive, encode: Encode, report: DirectiveContext['report']): void {
  if (block) return report.error(block.open, `a line of match takes no block: write ${MATCH}`);
  if (name.text === 'status') {
    if (args.length === 0) return report.error(name, `status is missing an argument: write ${MATCH}`);
    encode.statuses ??= [];
    for (const word of args) {
      const status = parseStatusOrClass(word.text);
      if (status.ok) encode.statuses.push(status.value);
      else report.error(word, `status ${quote(word.text)}: ${status.reason}`);
    }
    if (encode.statuses.length > MAX_LINES) report.error(name, `match has at most ${MAX_LINES} statuses`);
    return;
  }
  const [field, type, extra] = args;
  if (name.text !== 'header')
    return report.error(name, `match ${quote(name.text)}${didYouMean(name.text, ['status', 'header']) || `: write ${MATCH}`}`);
  if (!field || !type) return report.error(name, `header is missing an argument: write ${MATCH}`);
  if (extra) return report.error(extra, `${quote(extra.text)} is one argument too many for header: write ${MATCH}`);
  if (field.text.toLowerCase() !== 'content-type')
    return report.error(field, `header ${quote(field.text)}: only Content-Type decides what is encoded`);
  const pattern = parseTypePattern(type.text);
  if (!pattern.ok) return report.error(type, `header Content-Type ${quote(type.text)}: ${pattern.reason}`);
  encode.types = [...(encode.types ?? []), pattern.value];
  if (encode.types.length > MAX_LINES) report.error(name, `match has at most ${MAX_LINES} types`);
}
