import { quote } from '../../../../shared/config-file/quote.ts';
import { parseRate } from '../../../../shared/values/rate.ts';
import type { Rule, SiteDraft } from '../sites/rule.ts';

const MOST_LIMITS = 100;

export const rateLimit: Rule<SiteDraft> = {
  name: 'rate_limit',
  form: 'rate_limit <n>/s',
  scopes: ['site', 'handle'],
  args: [1, 1],
  block: 'none',
  repeats: 'conditionally',
  matcher: 'before',
  read({ args: [word] }, draft, { report }, condition) {
    if (!word) return;
    const rate = parseRate(word.text);
    if (rate.ok && condition === null) draft.said.rate_limit_rps = rate.value;
    else if (draft.said.rate_limits?.length === MOST_LIMITS)
      report.error(word, `a block has at most ${MOST_LIMITS} rate_limit lines with a matcher`);
    else if (rate.ok && condition) draft.said.rate_limits = [...(draft.said.rate_limits ?? []), { rps: rate.value, match: condition }];
    else if (!rate.ok) report.error(word, `rate_limit ${quote(word.text)}: ${rate.reason}`);
  },
};
