import * as z from 'zod';
import { type BalancingSpec, balancingFault, LONGEST_NAME, MAX_CHOICES, NAMED_POLICIES, PLAIN_POLICIES } from './balancing.ts';

export const balancingSchema: z.ZodType<BalancingSpec, BalancingSpec> = z
  .object({
    policy: z
      .enum([...PLAIN_POLICIES, 'random_choose', ...NAMED_POLICIES])
      .describe('How the target of a request is chosen: see [lb_policy](sluicefile.md#lb_policy).'),
    name: z
      .string()
      .min(1)
      .max(LONGEST_NAME)
      .optional()
      .describe('The header field, query parameter or cookie of the policies of these names; for `cookie`, `lb` if absent.'),
    choices: z.int().min(2).max(MAX_CHOICES).optional().describe('How many targets `random_choose` compares, from 2 to 10; 2 if absent.'),
  })
  .superRefine((spec, context) => {
    const fault = balancingFault(spec);
    if (fault !== undefined) context.addIssue({ code: 'custom', message: fault.reason, path: [fault.member] });
  })
  .meta({ title: 'lb_policy', about: 'How the target of a request is chosen.' });
