import * as z from 'zod';
import { conditionSchema } from '../../condition.ts';
import { faultOfTemplate } from '../../placeholders/template.ts';
import type { PolicyDescription } from '../policy.ts';
import { respondDirective } from './directive.ts';

const body = z
  .string()
  .max(65_536)
  .superRefine((text, issues) => {
    const fault = faultOfTemplate(text, 'request');
    if (fault !== undefined) issues.addIssue({ code: 'custom', message: fault });
  });

const answer = z.object({
  status: z.int().min(200).max(599).describe('The response status.'),
  body: body.default('').describe('The response body, which may contain placeholders.'),
});
const conditional = answer.extend({ match: conditionSchema.describe('The requests that it responds to.') });

const members = {
  respond: answer
    .meta({ title: 'respond', about: 'A fixed response, as plain text.' })
    .nullable()
    .default(null)
    .describe('A fixed response to all requests; null is none.'),
  responds: z
    .array(conditional.meta({ title: 'responds', about: 'A fixed response to some requests. They are tried in order.' }))
    .max(100)
    .optional()
    .describe('Fixed responses to some requests, tried before `respond`.'),
};

export const respond: PolicyDescription<typeof members> = { members, directive: respondDirective };
