import type { Condition } from '../../condition.ts';
import type { Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import { parseRate } from '../../values/rate.ts';

const MOST_LIMITS = 100;

type Part = { rate_limit_rps?: number | null; rate_limits?: { rps: number; match: Condition }[] | undefined };

export const rateLimitDirective: Grammar<Part> = {
  name: 'rate_limit',
  otherNames: ['limit_req', 'ratelimit'],
  form: 'rate_limit <n>/s',
  args: [1, 1],
  block: 'none',
  repeats: 'conditionally',
  matcher: 'before',
  read({ args: [word] }, part, { report }, condition) {
    if (!word) return;
    const rate = parseRate(word.text);
    if (rate.ok && condition === null) part.rate_limit_rps = rate.value;
    else if (part.rate_limits?.length === MOST_LIMITS)
      report.error(word, `a block has at most ${MOST_LIMITS} rate_limit lines with a matcher`);
    else if (rate.ok && condition) part.rate_limits = [...(part.rate_limits ?? []), { rps: rate.value, match: condition }];
    else if (!rate.ok) report.error(word, `rate_limit ${quote(word.text)}: ${rate.reason}`);
  },
};
