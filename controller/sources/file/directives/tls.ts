import type { Rule, SiteDraft } from '../sites/rule.ts';

export const tls: Rule<SiteDraft> = {
  name: 'tls',
  form: 'tls off',
  scopes: ['site'],
  args: [0, Number.POSITIVE_INFINITY],
  block: 'instead',
  repeats: false,
  read({ name, args, block }, draft, { report }) {
    if (args.length === 1 && block === null && args[0]?.text === 'off') draft.https = 'off';
    else report.error(args[0] ?? name, 'tls takes "off"; other forms are not available yet');
  },
};
