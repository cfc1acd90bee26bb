import { z } from 'zod';
import { conditionSchema } from '../../condition.ts';
import type { Policy } from '../policy.ts';
import { respondDirective } from './directive.ts';

const answer = z.object({
  status: z.int().min(200).max(599).describe('The status of the answer.'),
  body: z.string().max(65_536).default('').describe('Its text.'),
});
const conditional = answer.extend({ match: conditionSchema.describe('Which requests it answers.') });

const members = {
  respond: answer
    .meta({ title: 'respond', about: 'A fixed answer, as plain text.' })
    .nullable()
    .default(null)
    .describe('A fixed answer to everything; null is none.'),
  responds: z
    .array(conditional.meta({ title: 'responds', about: 'A fixed answer to some requests. They are asked in order.' }))
    .max(100)
    .optional()
    .describe('Fixed answers to some requests, asked before `respond`.'),
};

export const respond: Policy<typeof members> = { members, directive: respondDirective };
