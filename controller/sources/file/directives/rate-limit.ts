import { parseRate } from '../../../../shared/rate.ts';
import { quote } from '../diagnostics.ts';
import type { Rule, SiteDraft } from '../rule.ts';

export const rateLimit: Rule<SiteDraft> = {
  name: 'rate_limit',
  form: 'rate_limit <n>/s',
  scopes: ['site', 'handle'],
  args: [1, 1],
  block: 'none',
  repeats: false,
  read({ args: [word] }, draft, { report }) {
    if (!word) return;
    const rate = parseRate(word.text);
    if (rate.ok) draft.rateLimit = rate.value;
    else report.error(word, `rate_limit ${quote(word.text)}: ${rate.reason}`);
  },
};
