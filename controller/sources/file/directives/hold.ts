import { quote } from '../../../../shared/config-file/quote.ts';
import { MAX_HOLD_SECS } from '../../../../shared/limits.ts';
import { parseDuration } from '../../../../shared/values/duration.ts';
import type { Rule, SiteDraft } from './rule.ts';

export const hold: Rule<SiteDraft> = {
  name: 'hold',
  form: 'hold <duration>',
  scopes: ['site', 'handle'],
  args: [1, 1],
  block: 'none',
  repeats: false,
  read({ args: [word] }, draft, { report }) {
    if (!word) return;
    const time = parseDuration(word.text);
    if (!time.ok) report.error(word, `hold ${quote(word.text)}: ${time.reason}`);
    else if (time.value % 1_000 !== 0 || time.value > MAX_HOLD_SECS * 1_000)
      report.error(word, `hold ${quote(word.text)}: whole seconds, ${MAX_HOLD_SECS}s at most`);
    else draft.said.hold_secs = time.value / 1_000;
  },
};
