import type { DirectiveContext, Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { MAX_EXCLUDED, parseExcluded } from './excluded.ts';

const LINE = 'exclude <ip-or-range-or-path> [<ip-or-range-or-path> …]';

type AnalyticsMembers = { analytics?: { exclude?: string[] | undefined } | null | undefined };

export const analyticsDirective: Grammar<AnalyticsMembers> = {
  name: 'analytics',
  otherNames: ['web_vitals', 'statistics'],
  form: `analytics on|off [{ ${LINE} }]`,
  args: [1, 1],
  block: 'optional',
  repeats: false,
  read({ name, args: [word], block }, part, { report }) {
    if (!word) return;
    const on = word.text === 'on';
    if (!on && word.text !== 'off') return report.error(word, `analytics ${quote(word.text)}: write on or off`);
    if (!on && block) return report.error(block.open, 'analytics off takes no block');
    part.analytics = on ? {} : null;
    const excluded = (block?.lines ?? []).flatMap((line) => {
      if (line.name.text !== 'exclude') report.error(line.name, `analytics ${quote(line.name.text)}: write ${LINE}`);
      else if (line.block) report.error(line.block.open, `a line of analytics has no block: write ${LINE}`);
      else if (line.args.length === 0) report.error(line.name, `exclude is missing an argument: write ${LINE}`);
      else return line.args.flatMap((arg) => readExcluded(arg, report));
      return [];
    });
    if (excluded.length > MAX_EXCLUDED) report.error(name, `analytics excludes at most ${MAX_EXCLUDED} addresses and paths`);
    else if (on && excluded.length > 0) part.analytics = { exclude: excluded };
  },
};

function readExcluded(word: Word, report: DirectiveContext['report']): readonly string[] {
  const parsed = parseExcluded(word.text);
  if (parsed.ok) return parsed.value;
  report.error(word, `exclude ${quote(word.text)}: ${parsed.reason}`);
  return [];
}
