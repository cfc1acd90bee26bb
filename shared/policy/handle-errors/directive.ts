import { didYouMean } from '../../closest.ts';
import type { Directive, DirectiveContext, Grammar } from '../../config-file/directive.ts';
import { readTemplate } from '../../config-file/placeholder.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { HEADER_NAME, HEADER_VALUE, isFramingHeader, LONGEST_HEADER_NAME, LONGEST_HEADER_VALUE } from '../../response-header.ts';
import { compileStatuses, parseStatusOrClass, type StatusOrClass } from '../../values/status.ts';
import { FILE_WORDS, isFileLine, readFileLines } from './file-lines.ts';

/** Most `handle_errors` of a block, most statuses of each, and most headers of each. */
export const MAX_PAGES = 100;
/** Characters of a text or a page. */
export const LONGEST_PAGE = 65_536;

type Page = {
  statuses?: StatusOrClass[] | undefined;
  respond?: string | undefined;
  page?: string | undefined;
  files?: { root?: string | undefined; paths: string[] } | undefined;
  headers?: { name: string; value: string }[] | undefined;
  intercept?: boolean | undefined;
};

const LINES_HERE = ['respond', 'page', 'header', 'intercept'] as const;
const WORDS = [...LINES_HERE, ...FILE_WORDS];
const LINES = 'respond <text>, page <file>, file_server with rewrite, try_files and root, header <Name> <value> or intercept';
const FORMS = { respond: 'respond <text>', page: 'page <file>', header: 'header <Name> <value>', intercept: 'intercept' } as const;
const COUNTS = { respond: 1, page: 1, header: 2, intercept: 0 } as const;

export const handleErrorsDirective: Grammar<{ handle_errors?: Page[] | undefined }> = {
  name: 'handle_errors',
  otherNames: ['error_page', 'errors'],
  form: `handle_errors [<status> …] { … }, with one of these per line: ${LINES}`,
  args: [0, MAX_PAGES],
  block: 'required',
  repeats: true,
  read({ name, args, block }, part, { report, textOf }) {
    const page: Page = {};
    for (const word of args) {
      const status = parseStatusOrClass(word.text);
      if (!status.ok || Number(String(status.value)[0]) < 4)
        report.error(word, `handle_errors ${quote(word.text)}: write a status from 400 to 599, such as 404, or a class: 4xx or 5xx`);
      else page.statuses = [...(page.statuses ?? []), status.value];
    }
    const lines = block?.lines ?? [];
    for (const line of lines) if (!isFileLine(line)) readLine(line, page, report, textOf);
    const ofFiles = lines.filter(isFileLine);
    if (ofFiles.length > 0 && (page.respond ?? page.page) !== undefined)
      report.error(ofFiles[0]?.name ?? name, 'handle_errors has two pages');
    else if (ofFiles.length > 0) page.files = readFileLines(ofFiles, report);
    else if (page.respond === undefined && page.page === undefined)
      report.error(name, `handle_errors has no page: write respond <text>, page <file> or file_server`);
    const { handle_errors: pages = [] } = part;
    if (pages.length === MAX_PAGES) return report.error(name, `a block has at most ${MAX_PAGES} handle_errors`);
    // An imported one may be for sites that have none of their own.
    if (!name.from && isNeverUsed(page, pages))
      report.warn(name, 'this handle_errors is never used: others for its statuses come before it; move it up');
    part.handle_errors = [...pages, page];
  },
};

const ERRORS: readonly StatusOrClass[] = ['4xx', '5xx'];

/** Whether the pages before this one are for all of its statuses. Those without `intercept` leave the errors of upstreams to it. */
function isNeverUsed({ statuses = [...ERRORS], intercept }: Page, before: readonly Page[]): boolean {
  const first = before.filter((page) => page.intercept || !intercept);
  const isTaken = compileStatuses(first.flatMap((page) => page.statuses ?? ERRORS));
  const isFor = compileStatuses(statuses);
  for (let status = 400; status < 600; status++) if (isFor(status) && !isTaken(status)) return false;
  return true;
}

function readLine(
  { name, args, block }: Directive,
  page: Page,
  report: DirectiveContext['report'],
  textOf: DirectiveContext['textOf'],
): void {
  const word = LINES_HERE.find((known) => known === name.text);
  if (word === undefined) {
    const advice = name.text === 'templates' ? ': not supported: placeholders are replaced in respond and page only' : '';
    return report.error(name, `handle_errors ${quote(name.text)}${advice || didYouMean(name.text, WORDS) || `: write ${LINES}`}`);
  }
  const form = FORMS[word];
  if (block) return report.error(block.open, `a line of handle_errors takes no block: write ${form}`);
  const [first, second] = args;
  const extra = args[COUNTS[word]];
  if (extra) {
    // The line counts as a page, so that only one mistake is reported.
    if (word === 'respond') page.respond ??= '';
    const keeps = word === 'respond' && /^\d{3}$/.test(extra.text) ? 'the error keeps its status; delete it' : `write ${form}`;
    return report.error(extra, `${quote(extra.text)} is one argument too many for ${word}: ${keeps}`);
  }
  if (args.length < COUNTS[word]) return report.error(name, `${word} is missing an argument: write ${form}`);
  if (word === 'intercept') page.intercept = true;
  else if (first && word !== 'header' && (page.respond ?? page.page) !== undefined) report.error(name, 'handle_errors has two pages');
  else if (first && word === 'respond') readText(first, page, report);
  else if (first && word === 'page') {
    const text = textOf(first);
    if (!text.ok) report.error(first, `page ${quote(first.text)}: ${text.reason}`);
    else if (text.value.length > LONGEST_PAGE)
      report.error(first, `page ${quote(first.text)}: a page has at most ${LONGEST_PAGE} characters`);
    page.page = text.ok ? text.value : '';
  } else if (first && second) readHeader(first, second, page, report);
}

function readText(word: Word, page: Page, report: DirectiveContext['report']): void {
  const text = readTemplate(word, 'answer');
  if ('fault' in text) return report.error(word, `respond: ${text.fault}`);
  if (word.style === 'bare' && /^\d+$/.test(word.text))
    report.error(word, `respond ${quote(word.text)}: the error keeps its status; write a text`);
  if (text.text.length > LONGEST_PAGE) report.error(word, `a text has at most ${LONGEST_PAGE} characters`);
  page.respond = text.text;
}

function readHeader(name: Word, value: Word, page: Page, report: DirectiveContext['report']): void {
  if (!HEADER_NAME.test(name.text) || name.text.length > LONGEST_HEADER_NAME)
    return report.error(name, `header ${quote(name.text)}: a header name consists of letters, digits and hyphens`);
  if (isFramingHeader(name.text))
    return report.error(name, `header ${quote(name.text)}: the proxy itself sets this header; delete the line`);
  if (!HEADER_VALUE.test(value.text) || value.text.length > LONGEST_HEADER_VALUE)
    return report.error(value, `header ${quote(name.text)}: a value has no control characters and none above U+00FF`);
  const template = readTemplate(value, 'answer');
  if ('fault' in template) return report.error(value, `header ${quote(name.text)}: ${template.fault}`);
  const { headers = [] } = page;
  if (headers.length === MAX_PAGES) return report.error(name, `handle_errors has at most ${MAX_PAGES} headers`);
  page.headers = [...headers, { name: name.text, value: template.text }];
}
