import * as z from 'zod';
import { conditionSchema } from '../../condition.ts';
import { faultOfTemplate } from '../../placeholders/template.ts';
import { concealedQuery } from '../concealed-text.ts';
import type { PolicyDescription } from '../policy.ts';
import { faultOfUri, MAX_REWRITES, rewriteDirective } from './directive.ts';

const change = z
  .object({
    from: z.string().min(1).max(8_192).startsWith('/').optional().describe('A path pattern; absent: every path.'),
    to: z
      .string()
      .superRefine((text, issues) => {
        const fault = faultOfUri(text) ?? faultOfTemplate(text, 'request');
        if (fault !== undefined) issues.addIssue({ code: 'custom', message: fault });
      })
      .describe('The path and query that the upstream gets, which may contain placeholders.'),
    match: conditionSchema.optional().describe('Requests that it applies to; all if absent.'),
  })
  .meta({ title: 'rewrite', about: 'Another path and query for the upstream. The first match applies.' });

const members = { rewrites: z.array(change).max(MAX_REWRITES).optional().describe('Other paths and queries for the upstream.') };

export const rewrite: PolicyDescription<typeof members> = {
  members,
  directive: rewriteDirective,
  // A parameter may be a key for the upstream.
  concealed({ rewrites = [] }) {
    const marked = rewrites.map((change) => ({ ...change, to: concealedQuery(change.to) }));
    return marked.every(({ to }, index) => to === rewrites[index]?.to) ? null : { rewrites: marked };
  },
};
