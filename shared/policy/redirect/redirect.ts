import * as z from 'zod';
import { conditionSchema } from '../../condition.ts';
import { faultOfTemplate } from '../../placeholders/template.ts';
import { faultOfTarget } from '../../redirect-target.ts';
import { HEADER_VALUE, LONGEST_HEADER_VALUE } from '../../response-header.ts';
import type { PolicyDescription } from '../policy.ts';
import { redirectDirective } from './directive.ts';

/** A location that may contain placeholders in braces. */
const target = z
  .string()
  .max(LONGEST_HEADER_VALUE)
  .regex(HEADER_VALUE, 'a header value must not contain control characters')
  .min(1)
  .superRefine((text, issues) => {
    const fault = faultOfTemplate(text, 'request') ?? faultOfTarget(text);
    if (fault !== undefined) issues.addIssue({ code: 'custom', message: fault });
  });

const moved = z
  .object({
    from: z.string().min(1).max(8_192).describe('A path pattern.'),
    to: target.describe('A path or a URL, which may contain placeholders.'),
    status: z
      .union([z.literal(200), z.literal(301), z.literal(302), z.literal(303), z.literal(307), z.literal(308)])
      .describe('The response status; 200 is a page that leads on.'),
    match: conditionSchema.optional().describe('Requests that it applies to; all if absent.'),
  })
  .meta({ title: 'redirect', about: 'A redirect. The first match responds.' });

const members = { redirects: z.array(moved).max(1_000).default([]).describe('Redirects.') };

export const redirect: PolicyDescription<typeof members> = { members, directive: redirectDirective };
