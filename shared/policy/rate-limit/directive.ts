import { didYouMean } from '../../closest.ts';
import type { Condition } from '../../condition.ts';
import type { Grammar, Reading } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { parseRate, type RatePeriod } from '../../values/rate.ts';

export const MOST_LIMITS = 100;
const MEMBERS = { second: 'rps', minute: 'rpm', hour: 'rph' } as const;
const FORM = 'rate_limit <n>/s|m|h [header <Name>]';

type Limit = { rps?: number; rpm?: number; rph?: number; header?: string; match?: Condition };
type Part = { rate_limit_rps?: number | null; rate_limits?: Limit[] | undefined };

export const rateLimitDirective: Grammar<Part> = {
  name: 'rate_limit',
  otherNames: ['limit_req', 'ratelimit'],
  form: FORM,
  args: [1, 3],
  block: 'none',
  repeats: true,
  matcher: 'before',
  read({ name, args: [word, by, header] }, part, { report }, condition) {
    if (!word) return;
    const rate = parseRate(word.text);
    if (!rate.ok) return report.error(word, `rate_limit ${quote(word.text)}: ${rate.reason}`);
    const { requests, period } = rate.value;
    if (by !== undefined && !isHeader(by, header, report)) return;
    if (part.rate_limits?.length === MOST_LIMITS) return report.error(word, `a block has at most ${MOST_LIMITS} rate_limit lines`);
    if (condition === null && isRepeated(part, period, header?.text))
      return report.error(name, `there is a rate_limit per ${period} already; keep one of them, or put a matcher before it`);
    if (condition === null && period === 'second' && header === undefined) part.rate_limit_rps = requests;
    else {
      const limit = { [MEMBERS[period]]: requests, ...(header && { header: header.text }), ...(condition && { match: condition }) };
      part.rate_limits = [...(part.rate_limits ?? []), limit];
    }
  },
};

function isHeader(by: Word, header: Word | undefined, { error }: Reading['report']): boolean {
  if (by.text !== 'header') error(by, `rate_limit ${quote(by.text)}${didYouMean(by.text, ['header']) || `: write ${FORM}`}`);
  else if (header === undefined) error(by, `header is missing the name of a field: write ${FORM}`);
  else if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}$/.test(header.text))
    error(header, `header ${quote(header.text)}: a header name consists of letters, digits and hyphens`);
  else return true;
  return false;
}

function isRepeated({ rate_limit_rps, rate_limits = [] }: Part, period: RatePeriod, header: string | undefined): boolean {
  if (period === 'second' && header === undefined) return rate_limit_rps != null;
  const member = MEMBERS[period];
  return rate_limits.some(
    (limit) => limit.match === undefined && limit[member] !== undefined && limit.header?.toLowerCase() === header?.toLowerCase(),
  );
}
