import * as z from 'zod';
import type { PolicyDescription } from '../policy.ts';
import { analyticsDirective } from './directive.ts';
import { MAX_EXCLUDED, parseExcluded } from './excluded.ts';

const excluded = z.string().transform((text, issues) => {
  const parsed = parseExcluded(text);
  if (parsed.ok && parsed.value.length === 1) return parsed.value[0] as string;
  issues.addIssue({ code: 'custom', message: parsed.ok ? 'write an address, a range or a path' : parsed.reason });
  return z.NEVER;
});

const spec = z
  .object({
    exclude: z
      .array(excluded)
      .min(1)
      .max(MAX_EXCLUDED)
      .optional()
      .describe('Addresses, ranges of them, and path patterns: their requests are not counted as those of people.'),
  })
  .meta({ title: 'analytics', about: 'Measures pages in the browser (Web Vitals). Requests are counted in any case.' });

const members = {
  analytics: z
    .preprocess((value) => (value === true || value === 'on' ? {} : value === false || value === 'off' ? null : value), spec.nullable())
    .optional()
    .describe('Whether pages are measured in the browser: an object, or true for one without members; null and absent are no.'),
};

export const analytics: PolicyDescription<typeof members> = {
  members,
  directive: analyticsDirective,
  labels: [
    {
      word: 'analytics',
      form: 'on or off',
      otherwise: 'off',
      example: 'on',
      read(value, part) {
        if (value !== 'on' && value !== 'off') return 'write on or off';
        part.analytics = value === 'on' ? {} : null;
        return undefined;
      },
    },
  ],
};
