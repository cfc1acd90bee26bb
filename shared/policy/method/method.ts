import * as z from 'zod';
import { conditionSchema } from '../../condition.ts';
import type { PolicyDescription } from '../policy.ts';
import { faultOfMethod, MAX_METHODS, methodDirective } from './directive.ts';

const change = z
  .object({
    method: z
      .string()
      .superRefine((text, issues) => {
        const fault = faultOfMethod(text);
        if (fault !== undefined) issues.addIssue({ code: 'custom', message: fault });
      })
      .describe('The method that the upstream gets, in upper case; not HEAD, CONNECT or TRACE.'),
    match: conditionSchema.optional().describe('Requests that it applies to; all if absent.'),
  })
  .meta({ title: 'method', about: 'Another method for the upstream. The last match applies.' });

const members = { methods: z.array(change).max(MAX_METHODS).optional().describe('Other methods for the upstream.') };

export const method: PolicyDescription<typeof members> = { members, directive: methodDirective };
