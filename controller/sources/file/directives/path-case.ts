import { quote } from '../../../../shared/config-file/quote.ts';
import type { Rule, SiteDraft } from './rule.ts';

export const pathCase: Rule<SiteDraft> = {
  name: 'path_case',
  form: 'path_case insensitive|sensitive',
  scopes: ['site'],
  args: [1, 1],
  block: 'none',
  repeats: false,
  read({ args: [word] }, draft, { report }) {
    if (word?.text === 'insensitive' || word?.text === 'sensitive') draft.said.path_case = word.text;
    else if (word) report.error(word, `path_case ${quote(word.text)}: it is insensitive or sensitive`);
  },
};
