import type { Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import { readBy } from '../../values/read-by.ts';
import { parseRoot } from '../file-server/values.ts';
import type { PolicyDescription } from '../policy.ts';

const FORM = 'root [*] <directory>';

const rootDirective: Grammar<{ root?: string | null | undefined }> = {
  name: 'root',
  form: FORM,
  args: [1, 2],
  block: 'none',
  repeats: false,
  read({ args: [first, second] }, part, { report }) {
    const word = second ?? first;
    if (!first || !word) return;
    // A Caddyfile has "*" before a path, which would otherwise be a matcher.
    if (second && first.text !== '*')
      return report.error(first, `root ${quote(first.text)}: write root <directory> inside a handle to choose paths`);
    const root = parseRoot(word.text);
    if (root.ok) part.root = root.value;
    else report.error(word, `root ${quote(word.text)}: ${root.reason}`);
  },
};

const members = {
  root: readBy(parseRoot)
    .nullable()
    .optional()
    .describe('The directory of `file_server`, on the machine of the data plane; null or absent: that of the site.'),
};

export const root: PolicyDescription<typeof members> = { members, directive: rootDirective };
