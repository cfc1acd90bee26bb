import * as z from 'zod';
import { conditionSchema } from '../../condition.ts';
import { faultOfTemplate } from '../../placeholders/template.ts';
import { concealedText } from '../concealed-text.ts';
import type { PolicyDescription } from '../policy.ts';
import { faultOfChange, LONGEST_URI_TEXT, MAX_URI_CHANGES, QUERY_OPERATIONS } from './changes.ts';
import { uriDirective } from './directive.ts';

const text = z.string().max(LONGEST_URI_TEXT);

const change = z
  .object({
    strip_prefix: text.optional().describe('Removed from the beginning of the path.'),
    strip_suffix: text.optional().describe('Removed from the end of the path.'),
    replace: z
      .object({ find: text, by: text, limit: z.int().min(1).max(9_999).optional() })
      .optional()
      .describe('`{find, by, limit}`: plain text that is replaced in path and query; `limit` is how often at most.'),
    path_regexp: z
      .object({ pattern: z.string(), by: text })
      .optional()
      .describe('`{pattern, by}`: matches of an expression of RE2 that are replaced in the path; `$1` is what its first group matched.'),
    query: z
      .object({ name: z.string(), op: z.enum(QUERY_OPERATIONS), value: text.optional() })
      .optional()
      .describe('`{name, op, value}`: a query parameter to `set`, `add`, `remove` or `rename`. The value may contain placeholders.'),
    match: conditionSchema.optional().describe('Requests that it applies to; all if absent.'),
  })
  .superRefine((whole, issues) => {
    const value = whole.query?.op === 'rename' ? undefined : whole.query?.value;
    const fault = faultOfChange(whole) ?? (value === undefined ? undefined : faultOfTemplate(value, 'request'));
    if (fault !== undefined) issues.addIssue({ code: 'custom', message: fault });
  })
  .meta({ title: 'uri', about: 'A change to the path and query that the upstream gets. Changes apply in order, after `rewrites`.' });

const members = { uri: z.array(change).max(MAX_URI_CHANGES).optional().describe('Changes to the path and query that the upstream gets.') };

export const uri: PolicyDescription<typeof members> = {
  members,
  directive: uriDirective,
  // A parameter may be a key for the upstream.
  concealed({ uri: changes = [] }) {
    const marked = changes.map((whole) => {
      const { query } = whole;
      if (query?.value === undefined || query.op === 'rename') return whole;
      const value = concealedText(query.value);
      return value === query.value ? whole : { ...whole, query: { ...query, value } };
    });
    return marked.every((whole, index) => whole === changes[index]) ? null : { uri: marked };
  },
};
