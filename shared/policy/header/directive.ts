import type { Condition } from '../../condition.ts';
import type { Grammar, Reading } from '../../config-file/directive.ts';
import { findPlaceholder } from '../../config-file/placeholder.ts';
import { quote, unquoted } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { HEADER_NAME, HEADER_VALUE, isFramingHeader, LONGEST_HEADER_NAME, LONGEST_HEADER_VALUE } from '../../response-header.ts';

export const MOST_HEADERS = 1_000;

type Part = { headers?: { name: string; value: string | null; match?: Condition | undefined }[] };

export const headerDirective: Grammar<Part> = {
  name: 'header',
  otherNames: ['add_header'],
  form: 'header <Name> <value>, header -<Name>, or a block with one <Name> <value> or -<Name> per line',
  args: [1, Number.POSITIVE_INFINITY],
  block: 'instead',
  repeats: true,
  matcher: 'before',
  read({ name, args, block }, part, { report }, condition) {
    if (block === null) {
      const [first, ...values] = args;
      if (first) readHeader(first, values, condition, part, report);
      return;
    }
    if (block.lines.length === 0) report.error(name, 'the header block is empty: write one <Name> <value> per line, or delete it');
    for (const line of block.lines) {
      if (line.block) report.error(line.block.open, 'a header line takes no block');
      readHeader(line.name, line.args, condition, part, report);
    }
  },
};

function readHeader(name: Word, values: readonly Word[], condition: Condition | null, part: Part, report: Reading['report']): void {
  const [value, extra] = values;
  const removes = name.text.startsWith('-') && name.style === 'bare';
  const field = removes ? name.text.slice(1) : name.text;
  const wrongName = faultOfName(field);
  if (wrongName) return report.error(name, `header ${quote(name.text)}: ${wrongName}`);
  if (removes && value) return report.error(value, `header ${quote(name.text)} removes the header and takes no value`);
  if (!removes && !value)
    return report.error(
      name,
      `header ${quote(name.text)} has no value: write ${unquoted(field)} "<value>", or -${unquoted(field)} to remove it`,
    );
  if (extra) return report.error(extra, `header ${quote(name.text)} has several values: put the value in quotes`);
  const wrongValue = value && faultOfValue(value);
  if (value && wrongValue) return report.error(value, `header ${quote(name.text)}: ${wrongValue}`);
  const { headers = [] } = part;
  if (headers.some((other) => other.name.toLowerCase() === field.toLowerCase() && (other.match ?? null) === condition))
    report.warn(name, `header ${quote(field)} appears twice in this block; the last one wins`);
  if (headers.length === MOST_HEADERS) return report.error(name, `a block has at most ${MOST_HEADERS} headers`);
  part.headers = [...headers, { name: field, value: value?.text ?? null, ...(condition && { match: condition }) }];
}

function faultOfName(name: string): string | undefined {
  if (name.startsWith('/')) return 'header takes no path: put it in a handle block';
  if (/^[+?>]/.test(name)) return `headers can only be set or removed: write ${unquoted(name.slice(1))} or -${unquoted(name.slice(1))}`;
  if (/^[^:]+:$/.test(name)) return `a header name must not end with a colon: write ${unquoted(name.slice(0, -1))}`;
  if (!HEADER_NAME.test(name)) return 'a header name consists of letters, digits and hyphens';
  if (name.length > LONGEST_HEADER_NAME) return `a header name is at most ${LONGEST_HEADER_NAME} characters long`;
  return isFramingHeader(name) ? 'the proxy itself sets this header; delete the line' : undefined;
}

function faultOfValue(value: Word): string | undefined {
  if (!HEADER_VALUE.test(value.text)) return 'a value must not contain control characters or characters above U+00FF';
  if (value.text.length > LONGEST_HEADER_VALUE) return `a value is at most ${LONGEST_HEADER_VALUE} characters long`;
  const placeholder = findPlaceholder(value);
  return placeholder && `${unquoted(placeholder)} is not available yet in headers; in backquotes it is sent literally`;
}
