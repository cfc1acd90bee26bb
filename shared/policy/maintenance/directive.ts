import { didYouMean } from '../../closest.ts';
import type { Condition } from '../../condition.ts';
import type { Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import { parseSeconds } from '../../values/duration.ts';

/** 30 days. */
export const MAX_RETRY_AFTER_SECS = 2_592_000;
export const DEFAULT_RETRY_AFTER_SECS = 300;
export const LONGEST_PAGE = 65_536;

const LINES = 'retry_after <duration> or page <file>';

type Maintenance = { on: boolean; retry_after_secs?: number | undefined; page?: string | undefined; match?: Condition | undefined };

export const maintenanceDirective: Grammar<{ maintenance?: Maintenance | null | undefined }> = {
  name: 'maintenance',
  form: `maintenance on|off [{ … }], with one of these per line: ${LINES}`,
  args: [1, 1],
  block: 'optional',
  repeats: false,
  matcher: 'before',
  read({ args: [word], block }, part, { report, textOf }, condition) {
    if (!word) return;
    if (word.text !== 'on' && word.text !== 'off') return report.error(word, `maintenance ${quote(word.text)}: write on or off`);
    const maintenance: Maintenance = { on: word.text === 'on', ...(condition && { match: condition }) };
    part.maintenance = maintenance;
    // Its lines stay in the file while it is off.
    for (const { name, args, block: inner } of block?.lines ?? []) {
      const [value, extra] = args;
      if (name.text !== 'retry_after' && name.text !== 'page')
        report.error(name, `maintenance ${quote(name.text)}${didYouMean(name.text, ['retry_after', 'page']) || `: write ${LINES}`}`);
      else if (inner) report.error(inner.open, `a line of maintenance takes no block: write ${LINES}`);
      else if (!value) report.error(name, `${name.text} is missing an argument: write ${LINES}`);
      else if (extra) report.error(extra, `${quote(extra.text)} is one argument too many for ${name.text}: write ${LINES}`);
      else if (name.text === 'retry_after') {
        const time = parseSeconds(value.text, MAX_RETRY_AFTER_SECS);
        if (time.ok) maintenance.retry_after_secs = time.value;
        else report.error(value, `retry_after ${quote(value.text)}: ${time.reason}`);
      } else {
        const text = textOf(value);
        if (!text.ok) report.error(value, `page ${quote(value.text)}: ${text.reason}`);
        else if (text.value.length > LONGEST_PAGE)
          report.error(value, `page ${quote(value.text)}: a page has at most ${LONGEST_PAGE} characters`);
        else maintenance.page = text.value;
      }
    }
  },
};
