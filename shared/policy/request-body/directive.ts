import { didYouMean } from '../../closest.ts';
import type { DirectiveContext, Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { parseSize } from '../../values/size.ts';

/** 1 PB: no body is larger. */
export const MAX_SIZE = 2 ** 50;
const LINE = 'max_size <size>';

export const requestBodyDirective: Grammar<{ request_body?: { max_size: number } | null | undefined }> = {
  name: 'request_body',
  otherNames: ['client_max_body_size', 'max_body_size', 'limit_request_body'],
  form: `request_body ${LINE}, or a block with that line`,
  args: [1, 2],
  block: 'instead',
  repeats: false,
  read({ name, args, block }, part, { report }) {
    // Also with mistakes, so that a mistake is never taken for a site without a limit.
    part.request_body = { max_size: 0 };
    const lines = block ? block.lines.map((line) => [line.name, ...line.args]) : [args];
    const [first, second] = lines;
    if (!first) return report.error(name, `request_body is empty: write ${LINE}`);
    if (second) return report.error(second[0] as Word, `request_body takes one line: ${LINE}`);
    const size = sizeIn(first, report);
    if (size !== undefined) part.request_body = { max_size: size };
  },
};

function sizeIn([option, value, extra]: readonly Word[], report: DirectiveContext['report']): number | undefined {
  if (!option) return undefined;
  if (option.text !== 'max_size')
    report.error(option, `request_body ${quote(option.text)}${didYouMean(option.text, ['max_size']) || `: write ${LINE}`}`);
  else if (!value) report.error(option, `max_size is missing an argument: write ${LINE}`);
  else if (extra) report.error(extra, `${quote(extra.text)} is one argument too many for max_size: write ${LINE}`);
  else {
    const size = parseSize(value.text);
    if (size.ok) return size.value;
    report.error(value, `max_size ${quote(value.text)}: ${size.reason}`);
  }
  return undefined;
}
